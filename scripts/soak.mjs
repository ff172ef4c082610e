/** `npm run soak [-- --minutes 120 --seed N]`: procman under a load of everything. As root in a mount namespace, for a disk that becomes full. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { ensureBuild, ensurePackages } from "./bootstrap.mjs";
import { endWithNpm } from "./end-with-npm.mjs";
import { ROOT } from "./run-command.mjs";

await ensurePackages();
await ensureBuild();
const isRoot = process.platform === "linux" && process.getuid?.() === 0;
const command = [process.execPath, "--import", "tsx", join(ROOT, "test/soak/soak.ts"), ...process.argv.slice(2)];
const [program, ...args] = isRoot ? ["unshare", "--mount", "--propagation", "private", ...command] : command;
const env = { ...process.env, ...(isRoot ? { PROCMAN_SOAK_NAMESPACE: "1" } : {}) };
const child = spawn(program, args, { cwd: ROOT, env, stdio: "inherit" });
const end = () => child.kill("SIGTERM");
for (const signal of ["SIGHUP", "SIGINT", "SIGTERM"]) process.on(signal, end);
endWithNpm(end);
child.once("exit", (code) => {
  process.exitCode = code ?? 1;
  process.exit();
});
