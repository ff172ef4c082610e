/** The service with a fake keeper that records messages. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { RawConfig, RawProcess } from "../../src/core/config/config-schema.ts";
import { normalise } from "../../src/core/config/normalise.ts";
import type { Config } from "../../src/core/config/spec.ts";
import type { FromKeeper, ToKeeper } from "../../src/core/ipc/keeper-protocol.ts";
import { KeeperChannel } from "../../src/core/service/keeper-channel.ts";
import { ProcmanService, type ServiceOptions } from "../../src/core/service/service.ts";
import { inTime } from "./procman-process.ts";

export type Snapshot = Partial<Omit<FromKeeper & { readonly t: "snapshot" }, "t">>;

class Channel extends EventEmitter {
  readonly connected = true;
  readonly batches: ToKeeper[][] = [];

  #hasSocket = false;

  /** The keeper answers that it has a socket; all other answers are the test's. */
  send(messages: readonly ToKeeper[], socket?: object | (() => void)): boolean {
    this.batches.push([...(JSON.parse(JSON.stringify(messages)) as ToKeeper[])]);
    this.#hasSocket ||= typeof socket === "object";
    const answers = messages.flatMap((each) => (each.t === "sync" ? { t: "synced", number: each.number } : []));
    if (!this.#hasSocket || answers.length === 0) return true;
    this.#hasSocket = false;
    setImmediate(() => this.emit("message", answers));
    return true;
  }

  /** All but the lines for the console. */
  get sent(): readonly ToKeeper[] {
    return this.batches.flat().filter(({ t }) => t !== "logger");
  }

  get printed(): readonly string[] {
    return this.batches
      .flat()
      .flatMap((each) => (each.t === "logger" && each.message.t === "say" ? [each.message.text] : []));
  }

  /** The latest notes. */
  get notes(): Record<string, string> {
    const notes = this.sent.flatMap((each) => (each.t === "note" ? [[each.id, each.note] as const] : []));
    return Object.fromEntries(new Map(notes));
  }

  /** What was sent, in short: `spawn web 1`. */
  requests(...kinds: readonly ToKeeper["t"][]): readonly string[] {
    return this.sent
      .filter(({ t }) => kinds.includes(t))
      .map((each) =>
        "slot" in each ? `${each.t} ${each.slot} ${each.run}` : "code" in each ? `${each.t} ${each.code}` : each.t,
      );
  }
}

/** Removed when the tests of the file are over: a service that ends after a test writes to it once more. */
export function folder(): string {
  if (folders.length === 0)
    process.once("exit", () => {
      for (const each of folders) rmSync(each, { recursive: true, force: true });
    });
  const path = mkdtempSync(join(tmpdir(), "procman-service-"));
  folders.push(path);
  return path;
}

const folders: string[] = [];

export function configOf(stateDir: string, processes: readonly RawProcess[], top: Partial<RawConfig> = {}): Config {
  const normal = normalise(
    { ...top, processes: [...processes] },
    { folder: stateDir, parallelism: 1, now: new Date(), stripsTypes: false },
  );
  return { ...normal, stateDir, file: join(stateDir, "procman.json"), warnings: [] };
}

/** A service that has its snapshot; it is ended after the test. */
export function startService(
  context: TestContext,
  config: Config,
  snapshot: Snapshot = {},
  options: ServiceOptions = {},
) {
  const channel = new Channel();
  const link = new KeeperChannel(channel, {
    message: (message) => service.receive(message as never),
    closed: () => undefined,
  });
  const service = new ProcmanService(config, link, options);
  const tell = (...messages: readonly FromKeeper[]): void => void channel.emit("message", messages);
  /** The keeper has received everything so far. */
  const tellSynced = (): void => {
    tell(
      ...channel.sent.flatMap((each): FromKeeper[] =>
        each.t === "sync" ? [{ t: "synced", number: each.number }] : [],
      ),
    );
  };
  /** Settles the request, while the keeper confirms what it has received. */
  const answered = async <T>(request: Promise<T>): Promise<T> => {
    const over = request.then(
      () => true,
      () => true,
    );
    const asked = (): Promise<undefined> => new Promise((resolve) => setTimeout(resolve, 5, undefined));
    while ((await Promise.race([over, asked()])) === undefined) tellSynced();
    return request;
  };
  /** The batch of messages that has this note. */
  const batchOf = (id: string): readonly ToKeeper[] => {
    const batch = channel.batches.find((each) => each.some((message) => message.t === "note" && message.id === id));
    return batch ?? assert.fail(`there is no note ${id}`);
  };
  context.after(() => inTime(service.retire(), { what: "the service's end" }));
  void service.listen();
  channel.batches.length = 0;
  tell({
    t: "snapshot",
    running: [],
    ended: [],
    notes: {},
    lineage: "7 500",
    keepsApi: true,
    markerKey: "0".repeat(32),
    ...snapshot,
  });
  return { service, channel, tell, tellSynced, answered, batchOf };
}

/** A pid that no machine has: a sweep finds no process. */
type Seen = (FromKeeper & { readonly t: "snapshot" })["running"][number];

export const run = (slot: string, number = 1): Seen => ({
  slot,
  run: number,
  pid: 5_000_000,
  startTime: "1",
  since: 5,
  captured: true,
});
export const spawned = (slot: string, number = 1): FromKeeper => ({ t: "spawned", ...run(slot, number) });
export const exited = (slot: string, number = 1, code = 0): FromKeeper => ({
  t: "exited",
  slot,
  run: number,
  pid: 5_000_000,
  code,
  signal: null,
  unknown: false,
  survivors: false,
  at: 9,
});
/** The snapshot for the successor of a service that was killed while it ran these. */
export async function stateAfterKill(
  context: TestContext,
  config: Config,
  ...slots: readonly string[]
): Promise<Snapshot> {
  const { channel, service, tell } = startService(context, config);
  tell(...slots.map((slot) => spawned(slot)));
  await service.retire();
  return { running: slots.map((slot) => run(slot)), notes: channel.notes };
}
