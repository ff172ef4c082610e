import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { type TestContext, test } from "node:test";
import { specsOf } from "../../../test/support/service-fakes.ts";
import { stateDir } from "../../../test/support/store-rig.ts";
import { ProcmanError } from "../base/errors.ts";
import type { ProcessSpec } from "../config/spec.ts";
import type { FlushRecord } from "../contract/records.ts";
import type { ToKeeper } from "../ipc/keeper-protocol.ts";
import type { ToLogger } from "../ipc/logger-protocol.ts";
import { KeeperChannel } from "./keeper-channel.ts";
import { LogFlushes } from "./log-flushes.ts";
import { ServiceLog } from "./service-log.ts";
import { StoredLog } from "./stored-log.ts";

const CI = { consumer: "ci" };

/** The stored log of a service with the processes `web` and `pool-2`, its messages to the keeper, and a logger that stores at once. */
function logAccess(context: TestContext) {
  const sent: ToKeeper[] = [];
  const channel = Object.assign(new EventEmitter(), {
    connected: true,
    send: (messages: readonly ToKeeper[]) => {
      sent.push(...messages);
      const receipts = messages.flatMap((each) =>
        each.t === "logger" && each.message.t === "say" ? (each.message.receipt ?? []) : [],
      );
      book.onStored({ t: "stored", receipts });
      return true;
    },
  });
  const link = new KeeperChannel(channel, { message: () => undefined, closed: () => undefined });
  context.after(() => link.close());
  const specs = [{ id: "web" }, { id: "pool-2", cluster: { id: "pool", index: 1 } }] as ProcessSpec[];
  const registry = specsOf(specs, { stateDir: stateDir(context) });
  const book = new StoredLog({ log: new ServiceLog(link, registry), specs: registry });
  return { book, sent };
}

test("an entry is answered as it will be found, and sent to the logger", async (context) => {
  const { book, sent } = logAccess(context);
  const { time, ...entry } = await book.log({ text: "deployed\nv2", process: "pool-2", severity: "warn" }, CI);
  assert.deepEqual(entry, { process: "pool-2", instance: 2, severity: "warn", category: "log", text: "deployed\nv2" });
  const say = {
    t: "say",
    at: Date.parse(time),
    severity: "warn",
    text: "deployed\nv2",
    category: "log",
    id: "pool-2",
    instance: 2,
  };
  const [{ receipt, ...message } = {}] = sent.flatMap((each) =>
    each.t === "logger" && each.message.t === "say" ? [each.message] : [],
  );
  assert.equal(sent.length, 1);
  assert.deepEqual(message, say);
  assert.equal(typeof receipt, "number");
});

test("an entry needs neither a process nor a severity; a token of a process logs for that", async (context) => {
  const { book } = logAccess(context);
  const { time: _time, ...entry } = await book.log({ text: "hello" }, CI);
  assert.deepEqual(entry, { severity: "info", category: "log", text: "hello" });
  assert.equal((await book.log({ text: "hello" }, { consumer: "web", process: "web" })).process, "web");
});

test("a text that is too long is refused and not logged; an entry of a cluster has no instance", async (context) => {
  const { book, sent } = logAccess(context);
  const isCode = (code: string) => (error: unknown) => error instanceof ProcmanError && error.code === code;
  await assert.rejects(book.log({ text: "ä".repeat(32_769) }, CI), isCode("usage"));
  await book.log({ text: "ä".repeat(32_768) }, CI);
  assert.equal(sent.length, 1);
  const { process, instance } = await book.log({ text: "x", process: "pool" }, CI);
  assert.deepEqual([process, instance], ["pool", undefined]);
});

test("a flush empties the files that no other process writes to; the stored log only for all, and a silent logger is not a success", async () => {
  const spec = (id: string, log: object): ProcessSpec => ({ id, log }) as ProcessSpec;
  const all = [
    spec("web-1", { stdout: "/logs/web.log", stderr: "/logs/errors" }),
    spec("web-2", { stdout: "/logs/web.log", stderr: "/logs/errors" }),
    spec("mail", { stdout: "/logs/mail.log", stderr: "/logs/errors" }),
    spec("quiet", {}),
  ];
  const sent: (ToLogger & { readonly t: "flush" })[] = [];
  const flushes = new LogFlushes({ command: (message) => void (message.t === "flush" && sent.push(message)) }, 1);
  const flush = (processes: readonly string[], store = false): Promise<FlushRecord> => {
    const flushed = flushes.flush({ processes, all, store });
    const { receipt = 0, files = [] } = sent.at(-1) ?? {};
    flushes.onFlushed({ t: "flushed", receipt: receipt - 1, files: [], store: false, problems: [] });
    flushes.onFlushed({ t: "flushed", receipt, files, store, problems: [] });
    return flushed;
  };
  const shared = { file: "/logs/errors", reason: "it has lines of mail, too" };
  const processes = ["web-1", "web-2"];
  assert.deepEqual(await flush(processes), { processes, files: ["/logs/web.log"], store: false, kept: [shared] });
  assert.deepEqual((await flush(["web-1"])).kept[0], { file: "/logs/web.log", reason: "it has lines of web-2, too" });
  const ids = all.map(({ id }) => id);
  const files = ["/logs/web.log", "/logs/errors", "/logs/mail.log"];
  assert.deepEqual(await flush(ids, true), { processes: ids, files, store: true, kept: [] });
  await assert.rejects(
    flushes.flush({ processes: ["quiet"], all, store: false }),
    /^ProcmanError: Cannot flush quiet alone: no log file/,
  );
  await assert.rejects(
    flushes.flush({ processes: ids, all, store: true }),
    /^ProcmanError: Cannot tell whether the logs were emptied/,
  );
});
