/** Core dumps, by the rules of the kernel. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { type CoreRules, type Crash, coreOf } from "./core-dump.ts";

const NOW = Date.UTC(2026, 5, 1);

/** A folder with these files, from one second after the start of the run. */
function crashIn(context: TestContext, files: Readonly<Record<string, number>>): Crash {
  const folder = mkdtempSync(join(tmpdir(), "procman-core-"));
  context.after(() => rmSync(folder, { recursive: true }));
  for (const [name, seconds] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, "core");
    utimesSync(path, NOW / 1_000 + seconds, NOW / 1_000 + seconds);
  }
  return { pid: 4_711, signal: "SIGSEGV", folder, started: NOW, ended: NOW + 5_000 };
}

const rules = (pattern: string, more: Partial<CoreRules> = {}): CoreRules => ({
  pattern,
  appendsPid: false,
  has: () => true,
  ...more,
});

test("a core file is found by each form of the kernel's pattern", (context) => {
  const names = [
    "core",
    "core.4711",
    "d/11-4711",
    "%-4711",
    `${hostname()}.core`,
    "a-node-4711-99.core",
    "a-x-471.core",
  ];
  const crash = crashIn(context, Object.fromEntries(names.map((name) => [name, 4])));
  const found = (pattern: string, more?: Partial<CoreRules>): string | undefined =>
    coreOf(crash, rules(pattern, more))?.file?.slice(crash.folder.length + 1);
  assert.equal(found("core"), "core");
  assert.equal(found("core", { appendsPid: true }), "core.4711");
  assert.equal(found("core.%p", { appendsPid: true }), "core.4711", "it has the pid already");
  assert.equal(found("core.%P%z%"), "core.4711", "the kernel drops what it doesn't know");
  assert.equal(found(`${crash.folder}/d/%s-%p`), "d/11-4711");
  assert.equal(found("%%-%p"), "%-4711");
  assert.equal(found("%h.core"), `${hostname()}.core`);
  assert.equal(found("a-%e-%p-%t.core"), "a-node-4711-99.core");
  assert.equal(found("a-%e-%t.core"), undefined, "whose it is can't be known");
  assert.equal(found("%e/core.%p"), undefined);
  assert.equal(found("nowhere/%e.%p"), undefined);
  assert.equal(found(""), undefined, "the folder itself");
});

test("a core file of another run, an empty one, and an end without a dump are none", (context) => {
  const crash = crashIn(context, { before: -2, after: 7, empty: 4, core: 4 });
  writeFileSync(join(crash.folder, "empty"), "");
  utimesSync(join(crash.folder, "empty"), NOW / 1_000 + 4, NOW / 1_000 + 4);
  for (const name of ["before", "after", "empty"]) assert.equal(coreOf(crash, rules(name)), undefined, name);
  assert.ok(coreOf(crash, rules("core")));
  for (const signal of ["SIGKILL", "SIGTERM"]) assert.equal(coreOf({ ...crash, signal }, rules("core")), undefined);
});

test("a dump that the kernel passes to a program is shown by its command, if that is there", (context) => {
  const crash = crashIn(context, {});
  const program = "/lib/systemd/systemd-coredump";
  const systemd = `|${program} %P %u %g %s %t 9223372036854775808 %h`;
  assert.deepEqual(coreOf(crash, rules(systemd)), { program, command: "coredumpctl info 4711" });
  assert.deepEqual(coreOf(crash, rules(systemd, { has: () => false })), { program }, "as in a container");
  assert.deepEqual(coreOf(crash, rules("|/usr/share/apport/apport -p%p")), { program: "/usr/share/apport/apport" });
  assert.equal(coreOf(crash, rules("|")), undefined);
});
