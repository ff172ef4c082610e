import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { FromKeeper, ToKeeper } from "../ipc/keeper-protocol.ts";
import type { FromLogger, ToLogger } from "../ipc/logger-protocol.ts";
import type { UpgradeStep } from "../ipc/upgrade-protocol.ts";
import { Channel } from "./channel.ts";
import { UpgradeRun } from "./upgrade.ts";

/** A stand-in for a service or a logger; the first argument says how it behaves. */
const PROGRAM = `
const [, , how, version] = process.argv;
const { existsSync, readFileSync, writeFileSync } = require("node:fs");
const over = __filename + ".over";
const say = (message) => process.send([message], () => how.endsWith("brief") && (writeFileSync(over, String(process.pid)), process.exit(6)));
const isOver = () => {
  try { return existsSync(over) && !process.kill(Number(readFileSync(over, "utf8")), 0); } catch { return true; }
};
process.on("disconnect", () => process.exit());
const isLogger = how.startsWith("logger");
if (how === "exits") process.exit(3);
if (how !== "mute") say(isLogger ? { t: "ready", version } : { t: "open", protocol: how === "foreign" ? 99 : 1, version, stateDir: "", captures: 0 });
process.on("SIGUSR1", () => {
  // Ends after the next one, whose end is known by then: its parent has waited for it.
  if (how === "logger-slow") setInterval(() => isOver() && process.exit(0), 10);
  else if (how !== "logger-stuck") process.exit(0);
});
process.on("message", (messages) => {
  for (const { t } of messages) {
    if (t === "snapshot" && how === "dies") process.exit(4);
    if (t === "snapshot" && how === "silent") continue;
    if (t === "snapshot") say({ t: "ready", ...(how === "portless" ? { problem: "no port" } : {}) });
    if (t === "aside" && how !== "stubborn") say({ t: "aside" });
  }
});
`;

type Office = {
  readonly service: Channel<FromKeeper, ToKeeper>;
  readonly logger: Channel<ToLogger, FromLogger>;
  readonly upgrade: UpgradeRun;
  readonly argv: (how: string, version?: string) => readonly string[];
  /** How often a service got a snapshot. */
  readonly briefed: () => number;
};

/** Running service and logger, as the keeper has them. */
async function office(context: TestContext, how = "good", loggerHow = "logger"): Promise<Office> {
  const folder = mkdtempSync(join(tmpdir(), "procman-upgrade-"));
  const script = join(folder, "program.cjs");
  writeFileSync(script, PROGRAM);
  const argv = (what: string, version = "1"): readonly string[] => [process.execPath, script, what, version];
  const environment = (): NodeJS.ProcessEnv => ({ PATH: process.env.PATH });
  const started = { service: false, logger: false };
  let count = 0;
  const ready = { wake: (): void => undefined };
  const both = new Promise<void>((resolve) => {
    ready.wake = () => started.service && started.logger && resolve();
  });
  const limit = Number.POSITIVE_INFINITY;
  const service: Office["service"] = new Channel<FromKeeper, ToKeeper>({
    argv: () => argv(how),
    environment,
    limit,
    onStart: () => undefined,
    onMessages: (messages) => {
      for (const message of messages) {
        if (message.t === "open") started.service = true;
        if (message.t === "ready") upgrade.onReady(message.problem);
        if (message.t === "aside") upgrade.onAside();
      }
      ready.wake();
    },
    onExit: () => void upgrade.serviceExited(),
  });
  const logger: Office["logger"] = new Channel<ToLogger, FromLogger>({
    argv: () => argv(loggerHow),
    environment,
    limit,
    onStart: () => undefined,
    onMessages: () => {
      started.logger = true;
      ready.wake();
    },
    onExit: () => upgrade.loggerExited(),
  });
  const sendSnapshot = (): void => {
    count += 1;
    service.send({ t: "snapshot", running: [], ended: [], notes: {}, lineage: "", keepsApi: true, markerKey: "" });
  };
  const upgrade = new UpgradeRun({
    service,
    logger,
    sendSnapshot,
    prepareLogger: () => Promise.resolve(),
    timeouts: {
      load: 20_000,
      aside: how === "stubborn" ? 300 : 20_000,
      ready: 3_000,
      handover: loggerHow === "logger-stuck" ? 300 : 20_000,
    },
  });
  service.start();
  logger.start();
  context.after(async () => {
    const exits = [service, logger].flatMap(({ current }) => (current === undefined ? [] : [current]));
    service.kill();
    logger.kill();
    for (const child of exits) await over(child);
    rmSync(folder, { recursive: true });
  });
  await both;
  return { service, logger, upgrade, argv, briefed: () => count };
}

async function over(child: { readonly isRunning: boolean } | undefined): Promise<void> {
  while (child?.isRunning) await new Promise((resolve) => setTimeout(resolve, 5));
}

function problemOf({ ok, from, to, problem = "" }: UpgradeStep): string {
  assert.equal(ok, false);
  assert.equal(from, to);
  return problem;
}

test("a service that loads and becomes ready replaces the old one, which is killed", async (context) => {
  const { service, upgrade, argv, briefed } = await office(context);
  const old = service.current;
  const { ms, ...step } = await upgrade.service(argv("good", "2"), "1");
  assert.deepEqual(step, { part: "service", from: "1", to: "2", ok: true });
  assert.notEqual(service.current, old);
  assert.ok(service.isUp && ms >= 0);
  assert.equal(briefed(), 1);
  await over(old);
});

for (const [how, why] of [
  ["exits", /it ended at once \(exit code 3\)/],
  ["foreign", /it speaks protocol 99, and this keeper is too old for that/],
] as const)
  test(`a service that ${how === "exits" ? "ends at once" : "speaks another protocol"} is never promoted: the old one isn't even disturbed`, async (context) => {
    const { service, upgrade, argv, briefed } = await office(context);
    const old = service.current;
    assert.match(problemOf(await upgrade.service(argv(how, "2"), "1")), why);
    assert.equal(service.current, old);
    assert.equal(briefed(), 0);
  });

for (const [how, why] of [
  ["dies", /it ended before it took over/],
  ["silent", /it did not take over in time/],
  ["portless", /no port/],
] as const)
  test(`a service that ${how === "dies" ? "dies after its promotion" : how === "silent" ? "doesn't become ready" : "has no API"} is replaced by the old one, which gets a new snapshot`, async (context) => {
    const { service, upgrade, argv, briefed } = await office(context);
    const old = service.current;
    assert.match(problemOf(await upgrade.service(argv(how, "2"), "1")), why);
    while (service.current !== old) await new Promise((resolve) => setTimeout(resolve, 5));
    assert.ok(old?.isUp);
    assert.equal(briefed(), 2);
  });

test("a service that ends while the old one steps aside is not promoted: one that runs follows", async (context) => {
  const { service, upgrade, argv, briefed } = await office(context, "stubborn");
  assert.match(problemOf(await upgrade.service(argv("brief", "2"), "1")), /it ended before it took over/);
  while (!service.hasAnswered) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(service.isUp);
  assert.ok(briefed() > 0);
});

test("a logger that ends while the old one hands over: another one follows", async (context) => {
  const { logger, upgrade, argv } = await office(context, "good", "logger-slow");
  assert.match(problemOf(await upgrade.logger(argv("logger-brief", "2"), "1")), /it ended before it took over/);
  while (!logger.hasAnswered) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(logger.isUp);
});

test("an old service that doesn't step aside is killed and replaced", async (context) => {
  const { service, upgrade, argv } = await office(context, "stubborn");
  const old = service.current;
  const { ok, to } = await upgrade.service(argv("good", "2"), "1");
  assert.deepEqual([ok, to], [true, "2"]);
  await over(old);
  assert.ok(service.isUp);
});

test("a new logger takes over when the old one has handed over and ended", async (context) => {
  const { logger, upgrade, argv } = await office(context);
  const old = logger.current;
  const { ms, ...step } = await upgrade.logger(argv("logger", "2"), "1");
  assert.deepEqual(step, { part: "logger", from: "1", to: "2", ok: true });
  assert.notEqual(logger.current, old);
  assert.ok(!old?.isRunning && logger.isUp && ms >= 0);
});

test("a logger that can't hand over stays, and so does one whose successor fails", async (context) => {
  const { logger, upgrade, argv } = await office(context, "good", "logger-stuck");
  const old = logger.current;
  assert.match(problemOf(await upgrade.logger(argv("logger", "2"), "1")), /still holds lines/);
  assert.match(problemOf(await upgrade.logger(argv("exits", "2"), "1")), /ended at once/);
  assert.equal(logger.current, old);
  assert.ok(old?.isUp);
});
