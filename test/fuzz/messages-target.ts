/**
 * Messages of a service to the keeper, and through it to the logger, with odd members: as a service of another version,
 * or with a fault, could send them. Keeper and logger answer afterwards, and a run that no message names lives on.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { FromKeeper, ToKeeper } from "../../src/core/ipc/keeper-protocol.ts";
import { PROTOCOL } from "../../src/core/ipc/keeper-protocol.ts";
import { processStat } from "../../src/core/os/process-stat.ts";
import { cleanEnvironment, inTime, isAlive } from "../support/procman-process.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { version } from "../support/versions.ts";
import { type FuzzTarget, oddJson, whole } from "./fuzz-target.ts";

/** It passes messages between the keeper and a socket. */
const relay = (socket: string): string => `"use strict";
const socket = require("node:net").connect(${JSON.stringify(socket)});
process.on("message", (messages) => socket.write(JSON.stringify(messages) + "\\n"));
process.on("disconnect", () => process.exit(0));
require("node:readline").createInterface({ input: socket }).on("line", (line) => process.send(JSON.parse(line)));
`;

const SENTINEL = "sentinel";
const RUNS = 40;
const ADDRESS = { hostname: "127.0.0.1", port: 0 };

/** Of a run; its output is captured. */
function base(random: SeededRandom, folder: string): ToKeeper {
  const key = { slot: `fuzz-${whole(random, RUNS)}`, run: 1 + whole(random, 3) };
  const capture = {
    id: key.slot,
    console: false,
    decorateFiles: false,
    stdout: join(folder, "out.log"),
    store: { run: key.run },
  };
  const request = {
    ...{ argv: ["true"], cwd: folder, env: { A: "b" }, capture, memoryMax: 1e9, cpuQuota: 50 },
    ...{
      inherit: { only: ["PATH"] },
      notify: { fd: 4, file: join(folder, "notify") },
      as: { uid: process.getuid?.() ?? 0 },
    },
    ...(random.next() < 0.2 ? { listen: ADDRESS } : {}),
    ...(random.next() < 0.2 ? { channel: true as const, farewell: "shutdown" as const } : {}),
  };
  return random.of<() => ToKeeper>([
    () => ({ t: "spawn", ...key, ...request }),
    () => ({ t: "spawn", ...key, ...request, capture: { ...capture, console: true } }),
    () => ({ t: "prepare", ...key, ...request, after: "any-end" }),
    () => ({ t: "unprepare", ...key }),
    () => ({ t: "signal", ...key, signal: "SIGTERM", to: "leader" }),
    () => ({ t: "drain", ...key, signal: "SIGTERM" }),
    () => ({ t: "note", id: key.slot, note: "{}" }),
    () => ({ t: "route", ...key, capture }),
    () => ({ t: "ack", ...key }),
    () => ({ t: "sync", number: 7 }),
    () => ({ t: "sockets", wanted: [ADDRESS] }),
    () => ({ t: "balancer", wanted: false }),
    () => ({ t: "listening" }),
    () => ({ t: "pong" }),
    () => ({
      t: "logger",
      message: { t: "say", at: 1, severity: "info", id: key.slot, text: "text", run: 1, receipt: 3 },
    }),
    () => ({
      t: "logger",
      message: {
        t: "style",
        style: { decorate: true, colors: false },
        store: { hours: 1, bytes: 1e6 },
        idWidth: 9,
        releases: true,
      },
    }),
    () => ({ t: "logger", message: { t: "flush", receipt: 4, files: [join(folder, "out.log")], store: true } }),
    () => ({ t: "logger", message: { t: "release", keys: [`${key.slot}#${key.run}`] } }),
    () => ({ t: "logger", message: { t: "reopen" } }),
  ])();
}

class FakeService {
  readonly #folder: string;
  readonly #keeper: ChildProcess;
  readonly #socket: Socket;
  readonly #waiting = new Set<{ readonly is: (message: FromKeeper) => boolean; readonly done: () => void }>();
  readonly #printed: () => string;
  readonly #ended: Promise<never>;
  #sentinel = 0;
  #logger: number | undefined;
  #number = 1_000;

  constructor(folder: string, keeper: ChildProcess, socket: Socket, printed: () => string) {
    this.#folder = folder;
    this.#keeper = keeper;
    this.#socket = socket;
    this.#printed = printed;
    this.#ended = once(keeper, "exit").then(([code, signal]) => {
      throw new Error(`the keeper ended (${code ?? signal}); it printed:\n${printed()}`);
    });
    this.#ended.catch(() => undefined);
    // What follows from an end of the connection is seen by what waits.
    socket.on("error", () => undefined);
    const lines = createInterface({ input: socket }).on("error", () => undefined);
    lines.on("line", (line) => {
      for (const message of JSON.parse(line) as readonly FromKeeper[]) this.#onMessage(message);
    });
  }

  async begin(): Promise<void> {
    const ready = this.#until("a snapshot", ({ t }) => t === "snapshot");
    this.send([
      { t: "open", protocol: PROTOCOL, version: "1.0.0", stateDir: join(this.#folder, "state"), captures: 4 },
      { t: "ready" },
    ]);
    await ready;
    const begun = this.#until("the run", (message) => message.t === "spawned" && message.slot === SENTINEL);
    this.send([{ t: "spawn", slot: SENTINEL, run: 1, argv: ["sleep", "100000"], cwd: this.#folder, env: {} }]);
    await begun;
  }

  send(messages: unknown): void {
    this.#socket.write(`${JSON.stringify(messages)}\n`);
  }

  /** Keeper and logger carry out what comes afterwards, and the run that no message names lives. */
  async check(): Promise<void> {
    this.#number += 1;
    const number = this.#number;
    const answers = [
      this.#until("the keeper's answer", (message) => message.t === "synced" && message.number === number),
      this.#until("the logger's answer", (message) => this.#isStored(message, number)),
    ];
    const text = `entry ${number}`;
    this.send([
      { t: "logger", message: { t: "say", at: Date.now(), severity: "info", text, receipt: number, isQuiet: true } },
      { t: "sync", number },
    ]);
    try {
      await Promise.all(answers);
    } finally {
      assert.ok(
        this.#logger !== undefined && isAlive(this.#logger),
        `the logger has ended; printed was:\n${this.#printed()}`,
      );
    }
    assert.ok(isAlive(this.#sentinel), "a run that no message names has ended");
  }

  /** It may have ended because of a case. */
  async close(): Promise<void> {
    if (this.#keeper.exitCode === null && this.#keeper.signalCode === null) {
      const ended = once(this.#keeper, "exit");
      this.send([{ t: "end", code: 0 }]);
      await inTime(ended, { what: `the end of the keeper; it printed:\n${this.#printed()}` });
    }
    this.#socket.destroy();
    if (isAlive(this.#sentinel)) process.kill(-this.#sentinel, "SIGKILL");
  }

  #isStored(message: FromKeeper, number: number): boolean {
    return message.t === "logger" && message.message.t === "stored" && message.message.receipts.includes(number);
  }

  async #until(what: string, is: (message: FromKeeper) => boolean): Promise<void> {
    const waiting = new Promise<void>((resolve) => this.#waiting.add({ is, done: resolve }));
    await inTime(Promise.race([waiting, this.#ended]), {
      what: `${what}; printed was:\n${this.#printed().slice(-3_000)}`,
    });
  }

  #onMessage(message: FromKeeper): void {
    if (message.t === "ping") this.send([{ t: "pong" }]);
    if (message.t === "spawned" && message.slot === SENTINEL) this.#sentinel = message.pid;
    if (message.t === "parts") this.#logger ??= message.logger?.pid;
    for (const each of this.#waiting)
      if (each.is(message)) {
        this.#waiting.delete(each);
        each.done();
      }
  }
}

async function start(home: string): Promise<FakeService> {
  // Odd paths, such as "../outside", stay below `home`.
  const folder = join(home, "project/inner");
  mkdirSync(folder, { recursive: true });
  const socket = join(home, "s");
  const server = createServer().listen(socket);
  const { bin } = version(home, "1.0.0", (dist) => writeFileSync(join(dist, "service.cjs"), relay(socket)));
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify({ processes: [{ id: "web", cmd: "true", autostart: true }] }),
  );
  const parent = `--with-parent=${process.pid}-${processStat(process.pid)?.startTime}`;
  const keeper = spawn(process.execPath, [bin, "run", parent], {
    cwd: folder,
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [keeper.stdout, keeper.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      printed = `${printed}${text}`.slice(-10_000);
    });
  const [connection] = (await inTime(once(server, "connection"), { what: "the service" })) as [Socket];
  server.close();
  const service = new FakeService(folder, keeper, connection, () => printed);
  await service.begin();
  return service;
}

export async function openMessages(): Promise<FuzzTarget> {
  const home = mkdtempSync(join(tmpdir(), "procman-fuzz-"));
  const service = await start(home);
  return {
    input: (random) => {
      const messages = Array.from({ length: 1 + whole(random, 6) }, () => {
        const message = base(random, "@folder@");
        return random.next() < 0.8 ? oddJson(message, random) : message;
      });
      return Buffer.from(JSON.stringify(random.next() < 0.97 ? messages : oddJson(messages, random)));
    },
    check: async (given) => {
      service.send(JSON.parse(given.toString("utf8").replaceAll("@folder@", join(home, "project/inner"))));
      await service.check();
    },
    close: async () => {
      await service.close();
      rmSync(home, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
