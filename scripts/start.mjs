/** `npm start`: builds what is missing, then runs the quick start with procman in front of this terminal. */
import { spawn } from "node:child_process";
import { ensureBuild, ensurePackages } from "./bootstrap.mjs";
import { endWithNpm } from "./end-with-npm.mjs";
import { ROOT } from "./run-command.mjs";

/** Ctrl-C arrives here from the terminal and once more from npm; for procman a second signal means "kill". */
const ECHO_MS = 150;

/** A closed terminal ends procman here; SIGHUP itself would make it reload. */
const FORWARDED = { SIGINT: "SIGINT", SIGTERM: "SIGTERM", SIGHUP: "SIGTERM" };

/** When the last signal was passed on. */
let last = Number.NEGATIVE_INFINITY;
endWithNpm(() => {
  if (last < 0) process.kill(process.pid, "SIGTERM");
});

await ensurePackages();
await ensureBuild();

const asked = "node dist/procman.cjs";
console.log(`
In another terminal, with -c examples/quickstart:
  ${asked} status   # also: monitor, dashboard, logs -f, why worker, restart web
Ctrl-C ends everything.
`);

const argv = ["dist/procman.cjs", "run", "--config", "examples/quickstart/procman.jsonc", ...process.argv.slice(2)];
// A session of its own, so that the terminal's Ctrl-C reaches it through us only.
const child = spawn(process.execPath, argv, { cwd: ROOT, stdio: "inherit", detached: process.platform !== "win32" });

const forward = (signal) => {
  const now = performance.now();
  if (now - last < ECHO_MS) return;
  last = now;
  child.kill(FORWARDED[signal]);
};
for (const signal of Object.keys(FORWARDED)) process.on(signal, forward);

child.once("error", (error) => {
  console.error(`Cannot start procman: ${error.message}.`);
  process.exit(1);
});
child.once("exit", (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
