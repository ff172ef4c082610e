/** Writes down what it was started with, and the signals that it gets: arguments NAME [exit CODE [TIMES] | ignore SIGNAL] …; ends with CODE at its first TIMES starts. */
const { appendFileSync, existsSync, readFileSync } = require("node:fs");
const { join } = require("node:path");

const [name, ...args] = process.argv.slice(2);
const file = join(process.env.WRITTEN_DOWN, `${name}.jsonl`);
const starts = existsSync(file)
  ? readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.includes('"args"')).length
  : 0;
const write = (record) => appendFileSync(file, `${JSON.stringify(record)}\n`);
// Who reads that it has started may signal it at once.
for (const signal of ["SIGINT", "SIGTERM", "SIGQUIT", "SIGHUP", "SIGUSR2"])
  process.on(signal, () => {
    if (args[0] === "ignore" && args[1] === signal) return;
    write({ signal });
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

if (args[0] === "exit" && starts < Number(args[2] ?? Number.POSITIVE_INFINITY)) process.exit(Number(args[1]));
setInterval(() => undefined, 1_000);
