import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { test } from "node:test";
import fc from "fast-check";
import { PROJECT } from "../../../test/support/export-rig.ts";
import { expand } from "../../core/base/interpolate.ts";
import { resolveConfiguration } from "../../core/config/validate.ts";
import { commandOf, exportsOf, quoted, type ScriptSteps } from "./start-script.ts";
import type { Workload } from "./workload.ts";
import { workloadsOf } from "./workloads.ts";

function workload(process: object): Workload {
  const config = resolveConfiguration(
    { processes: [{ id: "web", autostart: true, ...process }] },
    { cwd: "/srv/shop" },
  );
  return workloadsOf(config, "port", PROJECT)[0] ?? assert.fail("no workload");
}

const LIVELY = fc.string({
  unit: fc.constantFrom("a", " ", '"', "'", "\\", "$", "`", "{", "}", "%", "\n", "é", "$(", "${", "*"),
});

test("a shell gets each word as it is", () => {
  fc.assert(
    fc.property(fc.array(LIVELY, { minLength: 1, maxLength: 5 }), (words) => {
      const line = `printf '%s\\0' ${words.map(quoted).join(" ")}`;
      assert.deepEqual(execFileSync("/bin/sh", ["-c", line], { encoding: "utf8" }).split("\0").slice(0, -1), words);
    }),
    { numRuns: 40 },
  );
});

test("a shell fills references into a value as procman does", () => {
  const part = fc.oneof(
    LIVELY,
    fc.constantFrom("${HOST:-a b}", '${HOST-x"$y}', "${EMPTY:-e}", "${EMPTY-e}", "${SET}", "$${SET}"),
  );
  const environment: Readonly<Record<string, string>> = { EMPTY: "", SET: 'v"a$l`ue' };
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), (parts) => {
      const text = parts.join("");
      // References that are not those of procman stay text; those without a value end the shell.
      const { text: wanted, missing } = expand(text, (name) => environment[name]);
      fc.pre(missing.length === 0);
      const line = `${exportsOf([{ name: "X", kind: "composed", text }]).join("\n")}\nprintf %s "$X"`;
      assert.equal(execFileSync("/bin/sh", ["-c", line], { encoding: "utf8", env: environment }), wanted);
    }),
    { numRuns: 60 },
  );
});

test("the shell ends before the program if a variable or a secret's file is missing", () => {
  const run = (steps: ScriptSteps): number | null => {
    const [program = "", ...args] = commandOf(workload({ cmd: "true" }), steps);
    return spawnSync(program, args, { env: {} }).status;
  };
  assert.notEqual(run({ variables: [{ name: "TOKEN", kind: "given", from: "CI_TOKEN" }] }), 0);
  assert.notEqual(run({ variables: [{ name: "URL", kind: "composed", text: "http://${HOST}/" }] }), 0);
  assert.equal(run({ variables: [{ name: "KEY", kind: "file", path: "/nothing/here" }] }), 78);
  assert.equal(run({ variables: [{ name: "URL", kind: "composed", text: "http://${HOST-x}/" }] }), 0);
});

test("a program needs a shell only where something has to be done before it", () => {
  assert.deepEqual(commandOf(workload({ cmd: "node server.js" }), { limits: true, umask: true, timeout: true }), [
    "node",
    "server.js",
  ]);
  assert.deepEqual(commandOf(workload({ cmd: "cd api && node server.js" })), [
    "/bin/sh",
    "-c",
    "cd api && exec node server.js",
  ]);
  assert.deepEqual(commandOf(workload({ cmd: "make | tee log" })), ["/bin/sh", "-c", "make | tee log"]);
  assert.deepEqual(
    commandOf(workload({ cmd: "node server.js", nice: 5, timeout: 60 }), { nice: true, timeout: true }),
    [..."nice -n 5 timeout --kill-after=30 60 node server.js".split(" ")],
  );
  assert.deepEqual(
    commandOf(workload({ cmd: "node server.js", umask: "027", ulimits: { nofile: 64, core: 1024 } }), {
      limits: true,
      umask: true,
    }),
    [
      "/bin/sh",
      "-c",
      "umask 027\nulimit -n 64 2>/dev/null || exit 78\nulimit -c 2 2>/dev/null || exit 78\nexec node server.js",
    ],
  );
});

test("a hook that fails or takes too long ends the shell before the program", () => {
  const codeOf = (beforeStart: unknown): number | null => {
    const [program = "", ...args] = commandOf(workload({ cmd: "true", hooks: { beforeStart } }), { beforeStart: true });
    return spawnSync(program, args).status;
  };
  assert.deepEqual([codeOf("exit 3"), codeOf("true"), codeOf({ cmd: "sleep 60", timeout: 0.1 })], [3, 0, 124]);
});
