/** The code that V8 compiled is damaged on the disk, as by a power failure: everything starts as without it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { homeOf, keeperIn } from "../support/cli.ts";
import { cleanEnvironment, eventually, isAlive, processExit } from "../support/procman-process.ts";
import { DIST, PACKAGE } from "../support/product.ts";

const DAMAGES: Readonly<Record<string, (code: Buffer) => Buffer>> = {
  "a page of zeros": (code) => Buffer.from(code).fill(0, 4_096, 8_192),
  "a flipped bit in each page": (code) =>
    Buffer.from(code).map((byte, place) => (place % 4_096 === 777 ? byte ^ 16 : byte)) as Buffer,
};

test("damaged compiled code of commands, keeper and service: each start and each command works, and the code is replaced", async (context) => {
  const { folder, state } = homeOf(context, [{ id: "web", cmd: "exec sleep 1000", autostart: true }]);
  const dist = join(folder, "dist");
  cpSync(DIST, dist, { recursive: true, filter: (path) => path !== join(DIST, "cache") });
  cpSync(join(PACKAGE, "package.json"), join(folder, "package.json"));
  const cache = join(dist, "cache");
  const procman = (...args: readonly string[]): string =>
    execFileSync(process.execPath, [join(dist, "procman.cjs"), ...args], {
      cwd: folder,
      env: cleanEnvironment(),
      encoding: "utf8",
    });
  const codes = (): readonly string[] =>
    existsSync(cache)
      ? readdirSync(cache)
          .filter((name) => /\d$/.test(name))
          .sort()
      : [];
  const pidOf = (): number =>
    (JSON.parse(procman("status", "web", "--json")) as readonly { readonly pid: number }[])[0]?.pid ?? 0;
  const service = (): number =>
    (JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as { readonly pid: number }).pid;
  const cycle = async (damage: () => void): Promise<void> => {
    damage();
    procman("run", "--detach");
    const [pid, before] = [pidOf(), service()];
    damage();
    process.kill(before, "SIGKILL");
    await eventually(() => (service() !== before && isAlive(service()) ? true : undefined));
    assert.equal(pidOf(), pid);
    const keeper = keeperIn(state);
    procman("terminate");
    await processExit(keeper);
  };
  for (let round = 0; codes().length < 3 && round < 20; round += 1) await cycle(() => undefined);
  assert.deepEqual(
    codes().map((name) => name.split(".")[0]),
    ["cli-main", "keeper-main", "service-main"],
  );
  const whole = new Map(codes().map((name) => [name, readFileSync(join(cache, name))]));
  for (const change of Object.values(DAMAGES))
    await cycle(() => {
      for (const name of readdirSync(cache)) rmSync(join(cache, name));
      for (const [name, code] of whole) writeFileSync(join(cache, name), change(code));
    });
});
