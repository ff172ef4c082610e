/** The limits of an ecosystem file, which is a program. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { folderOfFiles } from "../../../test/support/import-rig.ts";
import { eventually } from "../../../test/support/procman-process.ts";
import { exportedBy } from "./ecosystem-child.ts";

type Context = Parameters<typeof folderOfFiles>[0];

function exportOf(
  context: Context,
  text: string,
  limits?: Parameters<typeof exportedBy>[1],
): { readonly folder: string; readonly data: Promise<unknown> } {
  const folder = folderOfFiles(context, { "ecosystem.config.js": text });
  return {
    folder,
    data: exportedBy({ file: join(folder, "ecosystem.config.js"), shownAs: "ecosystem.config.js", text }, limits),
  };
}

/** Whether the process is there and no zombie. */
function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

test("a file that never ends is ended after the limit, with the processes that it has started", async (context) => {
  for (const end of ["for (;;);", "setInterval(() => {}, 1000); module.exports = new Promise(() => {});"]) {
    const start =
      'const { pid } = require("child_process").spawn("sleep", ["1000"]); require("fs").writeFileSync(__dirname + "/pid", String(pid));';
    // On a busy machine a file may not have begun when its time is over.
    for (let seconds = 1.5, pid: string | undefined; pid === undefined; seconds *= 2) {
      const { folder, data } = exportOf(context, `${start} ${end}`, { timeoutMs: seconds * 1_000, bytes: 1_000 });
      const message = `ecosystem.config.js: it has not ended after ${seconds} s`;
      await assert.rejects(data, (error: Error & { code?: string }) => {
        assert.equal(error.code, "configuration-invalid");
        assert.ok(error.message.includes(message), error.message);
        return true;
      });
      const file = join(folder, "pid");
      pid = existsSync(file) ? readFileSync(file, "utf8") : undefined;
      if (pid !== undefined) await eventually(() => !isRunning(Number(pid)) || undefined);
    }
  }
});

test("what it has started in sessions of their own is ended too, when it has exported", async (context) => {
  const child =
    'require("child_process").spawn("sh", ["-c", "sleep 1000 & echo $! >" + __dirname + "/inner; wait"], { detached: true, stdio: "ignore" })';
  const text = `const { pid } = ${child}; const fs = require("fs");
    while (!fs.existsSync(__dirname + "/inner") || fs.readFileSync(__dirname + "/inner", "utf8") === "");
    module.exports = { apps: [], pid };`;
  const { folder, data } = exportOf(context, text);
  const { pid } = (await data) as { readonly pid: number };
  await eventually(
    () => [pid, Number(readFileSync(join(folder, "inner"), "utf8"))].every((each) => !isRunning(each)) || undefined,
  );
});

test("a file that exports more than the limit is refused; what it prints doesn't count", async (context) => {
  const large = exportOf(context, 'module.exports = { apps: [{ name: "x".repeat(5000) }] };', {
    timeoutMs: 30_000,
    bytes: 2_000,
  });
  await assert.rejects(large.data, /it exports more than 2 kB/);
  const loud = exportOf(context, 'console.log("x".repeat(1e6)); console.error("y"); module.exports = { apps: [] };');
  assert.deepEqual(await loud.data, { apps: [] });
});

test("functions, cycles, rejected promises and errors of any kind are data or a clear error, never a crash", async (context) => {
  assert.deepEqual(
    await exportOf(context, "module.exports = async () => ({ apps: [{ a: () => 1, b: undefined, c: new Date(0) }] })")
      .data,
    {
      apps: [{ c: "1970-01-01T00:00:00.000Z" }],
    },
  );
  for (const [text, message] of [
    ["const a = {}; a.a = a; module.exports = a;", /it fails with "Converting circular structure/],
    ["module.exports = { apps: [{ a: 1n }] };", /it fails with ".*BigInt/],
    ["module.exports = () => Promise.reject(null);", /it fails with "null"/],
    ["throw undefined;", /it fails with "undefined"/],
    [
      "setTimeout(() => { throw new Error('late') }); module.exports = new Promise(() => {});",
      /it fails with "late" at line 1, column 26/,
    ],
    ["process.kill(process.pid, 'SIGKILL');", /it ended by SIGKILL before it exported anything/],
    [
      "require('fs').writeSync(3, 'hello'); module.exports = { apps: [] };",
      /it writes to descriptor 3, .*; leave that one alone/,
    ],
    ["require('fs').writeSync(3, '7'); process.exit(0);", /it writes to descriptor 3/],
    ["require('./absent');", /it fails with "Cannot find module '\.\/absent'/],
  ] as const)
    await assert.rejects(exportOf(context, text).data, { code: "configuration-invalid", message });
});
