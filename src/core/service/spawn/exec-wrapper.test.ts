import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { getPriority, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { type InheritedLimits, wrapWithLimits } from "./exec-wrapper.ts";

function said(inherited: InheritedLimits, ...argv: readonly string[]): string {
  const [program = "", ...args] = wrapWithLimits(argv, inherited);
  return execFileSync(program, args, { encoding: "utf8" }).trim();
}

test("without limits, no shell is used", () => {
  assert.deepEqual(wrapWithLimits(["node", "a.js"], {}), ["node", "a.js"]);
  assert.deepEqual(wrapWithLimits(["node", "a.js"], { ulimits: {} }), ["node", "a.js"]);
});

test("limits, umask and niceness apply to the program, which replaces the shell and gets its arguments unchanged", () => {
  const sh = (script: string): readonly string[] => ["sh", "-c", script, "x", "a  b", "'$HOME'"];
  const ulimits = { nofile: 123, core: 0, stack: 4 * 1_024 * 1_024, cpu: 60, as: 8 * 1_024 ** 3 };
  assert.equal(
    said({ ulimits }, ...sh('echo $(ulimit -n) $(ulimit -c) $(ulimit -s) $(ulimit -t) $(ulimit -v) "$@"')),
    "123 0 4096 60 8388608 a  b '$HOME'",
  );
  assert.equal(said({ umask: "027" }, ...sh("umask")), "0027");
  // The tests may run with a niceness themselves; a lower one needs root.
  const nice = Math.min(19, getPriority() + 5);
  assert.equal(said({ nice }, "nice"), String(nice));
  assert.equal(said({ oomScoreAdjust: 300 }, "cat", "/proc/self/oom_score_adj"), "300");
  assert.equal(
    said({ ioNice: { class: "best-effort", level: 6 }, nice }, "sh", "-c", "ionice -p $$; nice"),
    `best-effort: prio 6\n${nice}`,
  );
  assert.equal(said({ ioNice: { class: "idle" } }, "sh", "-c", "ionice -p $$"), "idle");
  const result = spawnSync(
    "sh",
    [
      "-c",
      'echo $$; exec "$@"',
      "x",
      ...wrapWithLimits(["sh", "-c", "echo $$"], {
        umask: "022",
        nice,
        ioNice: { class: "idle" },
        oomScoreAdjust: 300,
      }),
    ],
    {
      encoding: "utf8",
    },
  );
  const [first, second] = result.stdout.trim().split("\n");
  assert.equal(first, second);
});

test("the niceness is that of the configuration, whatever procman's own is", () => {
  const script = `import { execFileSync } from "node:child_process";
    import { getPriority } from "node:os";
    import { wrapWithLimits } from ${JSON.stringify(new URL("./exec-wrapper.ts", import.meta.url).href)};
    const wanted = getPriority() + 1;
    const [program, ...args] = wrapWithLimits(["nice"], { nice: wanted });
    console.log(wanted - execFileSync(program, args));`;
  const argv = ["-n", "2", process.execPath, "--import", "tsx", "--input-type=module", "-e", script];
  assert.equal(execFileSync("nice", argv, { encoding: "utf8" }), "0\n");
});

test("standard input is a file, whatever its name, which then ends; one that can't be read is reported, and nothing is started", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-wrapped-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const input = join(folder, "it's $HOME\nand \"more\"");
  writeFileSync(input, "one\ntwo\n");
  assert.equal(said({ input }, "cat"), "one\ntwo");
  assert.equal(said({ input, nice: 1, umask: "022" }, "sh", "-c", "read a; cat; echo $a"), "two\none");
  const [program = "", ...args] = wrapWithLimits(["echo", "started"], { input: join(folder, "gone") });
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  assert.deepEqual([status, stdout], [78, ""]);
  assert.match(stderr, /^Cannot start: its user can't read its input file .*\/gone; give it the right, or correct "stdin"$/m);
});

test("LISTEN_PID of a shared socket is the program's own pid", () => {
  assert.match(said({ share: {} }, "sh", "-c", "echo $$ $LISTEN_PID"), /^(\d+) \1$/);
  assert.match(said({ share: {}, nice: 1, umask: "022" }, "sh", "-c", "echo $$ $LISTEN_PID"), /^(\d+) \1$/);
});

test("the number of processes is limited, by whichever flag the shell has for it", () => {
  const [program = "", ...args] = wrapWithLimits(["cat", "/proc/self/limits"], { ulimits: { nproc: 5_000 } });
  assert.match(execFileSync(program, args, { encoding: "utf8" }), /Max processes +5000 +5000/);
});

test("a limit that can't be set is reported, and nothing is started", () => {
  const [program = "", ...args] = wrapWithLimits(["echo", "started"], { ulimits: { nofile: 2 ** 52 } });
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: "utf8" });
  assert.deepEqual([status, stdout], [78, ""]);
  assert.match(
    stderr,
    /^Cannot start: the limit nofile cannot be 4503599627370496; this user may not go beyond the hard limit$/m,
  );
});
