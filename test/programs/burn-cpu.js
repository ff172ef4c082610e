// Uses a whole processor and 50 MB in a child with a separate session.
import { spawn } from "node:child_process";

if (process.argv[2] === "child") {
  globalThis.kept = Buffer.alloc(50 * 1_048_576, 1);
  for (;;) for (let end = Date.now() + 100; Date.now() < end; );
}
spawn(process.execPath, [import.meta.filename ?? process.argv[1], "child"], { stdio: "ignore", detached: true });
setInterval(() => undefined, 1_000_000);
