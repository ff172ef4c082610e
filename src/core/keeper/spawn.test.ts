/** The fork of a run. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { SpawnRequest } from "../ipc/keeper-protocol.ts";
import { fork, recreateScreen } from "./spawn.ts";

const folder = mkdtempSync(join(tmpdir(), "procman-fork-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Its output, once it has ended. */
async function printed(request: Partial<SpawnRequest>, keeper: NodeJS.ProcessEnv): Promise<string> {
  const file = join(folder, "out");
  const out = openSync(file, "w");
  const [child] = fork(
    { slot: "a", run: 1, argv: ["/bin/sh", "-c", "env; pwd"], cwd: folder, env: {}, ...request },
    { out, err: out },
    keeper,
  );
  assert.deepEqual(await once(child, "exit"), [0, null]);
  closeSync(out);
  return readFileSync(file, "utf8");
}

test("2.2 a run inherits the keeper's variables, and its own override them", async () => {
  const text = await printed(
    { env: { HOME: "/own", MORE: "a=b\nc", EMPTY: "" } },
    { HOME: "/keeper", KEPT: "1", EMPTY: "no" },
  );
  for (const line of ["HOME=/own", "KEPT=1", "MORE=a=b\nc", "EMPTY="])
    assert.equal(text.split(`${line}\n`).length, 2, text);
  assert.ok(!text.includes("/keeper") && !text.includes("EMPTY=no"), text);
  assert.ok(text.endsWith(`${folder}\n`), text);
});

test("2.2 a program or folder that doesn't exist: `error` with the errno, and no pid", async () => {
  for (const [argv, cwd] of [
    [["/no/such"], folder],
    [["true"], join(folder, "none")],
  ] as const) {
    const [child] = fork({ slot: "a", run: 1, argv, cwd, env: {} }, {}, { PATH: "/bin" });
    const [error] = (await once(child, "error")) as [NodeJS.ErrnoException];
    assert.deepEqual([child.pid, error.code, error.syscall], [undefined, "ENOENT", `spawn ${argv[0]}`]);
  }
});

test("2.2 nothing is started if an argument or a variable has a NUL byte, which would cut it", () => {
  const request = { slot: "a", run: 1, argv: ["true"], cwd: folder, env: {} };
  for (const bad of [
    { argv: ["true", "a\0b"] },
    { argv: ["true\0"] },
    { cwd: `${folder}\0/x` },
    { env: { A: "b\0c" } },
    { env: { "A\0": "b" } },
  ])
    assert.throws(() => fork({ ...request, ...bad }, {}, {}), /NUL byte/);
});

test("the FIFO of a screen takes what somebody reads; without a reader it is refused, and nothing is kept", () => {
  const file = join(folder, "screen");
  const fd = recreateScreen(file);
  assert.throws(() => writeSync(fd, "unseen"), { code: "EPIPE" });
  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  writeSync(fd, "seen");
  const buffer = Buffer.alloc(10);
  assert.equal(buffer.toString("utf8", 0, readSync(reader, buffer)), "seen");
  closeSync(reader);
  assert.throws(() => writeSync(fd, "unseen"), { code: "EPIPE" });
  closeSync(fd);
});
