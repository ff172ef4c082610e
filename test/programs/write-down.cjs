/**
 * Writes down what it was started with, and the signals and messages that it gets: arguments NAME [WHAT …], where WHAT is
 * `exit CODE [TIMES [MS]]`: ends with CODE after MS at its first TIMES starts;
 * `ignore SIGNAL`: goes on after it, and writes for how long; `hold MB`: so much memory, at its first start;
 * `print`: a line to each output; `ready`: sends it to its parent; `child`: starts another one, NAME-child.
 */
const { spawn } = require("node:child_process");
const { appendFileSync, existsSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

const [name, ...args] = process.argv.slice(2);
const [what, ...values] = args;
const file = join(process.env.WRITTEN_DOWN, `${name}.jsonl`);
const starts = existsSync(file)
  ? readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.includes('"args"')).length
  : 0;
const write = (record) => appendFileSync(file, `${JSON.stringify({ at: Date.now(), ...record })}\n`);
const live = (since) => appendFileSync(join(process.env.WRITTEN_DOWN, `${name}.lived`), `${Date.now() - since}\n`);

// Who reads that it has started may signal it at once.
for (const signal of ["SIGINT", "SIGTERM", "SIGQUIT", "SIGHUP", "SIGUSR2"])
  process.on(signal, () => {
    if (what === "ignore" && values[0] === signal) return void setInterval(live, 25, Date.now());
    write({ signal });
    process.exit(0);
  });
process.on("message", (message) => {
  if (message !== "shutdown") return;
  write({ signal: `message ${message}` });
  process.exit(0);
});

const { WRITTEN_DOWN: _, ...env } = process.env;
write({
  args,
  execArgv: process.execArgv,
  cwd: process.cwd(),
  uid: process.getuid(),
  gid: process.getgid(),
  umask: process.umask(),
  env,
});

if (what === "exit" && starts < Number(values[1] ?? Number.POSITIVE_INFINITY))
  setTimeout(() => process.exit(Number(values[0])), Number(values[2] ?? 0));
if (what === "print") {
  process.stdout.write(`${name} to standard output\n`);
  process.stderr.write(`${name} to standard error\n`);
}
if (what === "ready") process.send?.("ready");
if (what === "child") spawn(process.execPath, [__filename, `${name}-child`], { stdio: "ignore" });
const held = what === "hold" && starts === 0 ? Buffer.alloc(Number(values[0]) * 1_000_000, 1) : undefined;
const parent = process.ppid;
setInterval(() => {
  // Some managers leave children behind.
  if (name.endsWith("-child") && process.ppid !== parent) process.exit(held?.length ?? 0);
}, 3_000);
