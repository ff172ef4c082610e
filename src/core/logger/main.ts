/** The logger process: started by the keeper, controlled by IPC messages. */
import { dirname } from "node:path";
import { messagesIn } from "../base/messages.ts";
import { VERSION } from "../base/version.ts";
import type { ListeningSocket } from "../ipc/keeper-protocol.ts";
import type { FromLogger, ToLogger } from "../ipc/logger-protocol.ts";
import { isForKeeping, keepSockets, releaseApi } from "../os/inherited-sockets.ts";
import { takeFailoverOrder } from "../os/keeper-failover.ts";
import { holdYoungGeneration, makeThreads } from "../os/node-tuning.ts";
import { setTitle } from "../os/part-title.ts";
import { leaveFolder } from "../os/start-folder.ts";
import { callForKeeper } from "./failover.ts";
import { Logger } from "./logger.ts";

// Before the title, by which a keeper knows that it may ask: until then the signal would start Node's debugger.
process.on("SIGUSR1", () => logger.handOver());
setTitle("logger");
leaveFolder();
const revival = takeFailoverOrder();
const sockets = keepSockets();
// Time stamps create megabytes of short-lived strings.
holdYoungGeneration();

/** Time for the last messages, if the keeper doesn't read them. Milliseconds. */
const LAST_MS = 1000;

/** Messages of one turn of the event loop are sent together. */
let outbox: FromLogger[] = [];
let closing = false;
/** The keeper is gone, and this logger may have to start another. */
let isCalling = false;
let home: string | undefined;

const logger = new Logger({ send, idle: leaveIfAlone, close: () => void close(), handedOver: () => void leave() });

function send(message: FromLogger): void {
  if (outbox.length === 0) setImmediate(() => void post());
  outbox.push(message);
}

function post(): Promise<void> {
  const batch = outbox;
  outbox = [];
  if (batch.length === 0 || !process.connected) return Promise.resolve();
  // An error here means that the keeper is gone, which `disconnect` reports too.
  return new Promise((resolve) => process.send?.(batch, undefined, undefined, () => resolve()));
}

/** Without a keeper, children may still write: the logger stays until the last of them has exited. */
function leaveIfAlone(): void {
  if (!process.connected && !isCalling && logger.isIdle) void close();
}

/** The keeper is gone. */
async function onAlone(): Promise<void> {
  logger.checkAll();
  if (!closing && revival !== undefined && home !== undefined) {
    isCalling = true;
    await callForKeeper(revival, home, { sockets, isIdle: () => logger.isIdle });
    isCalling = false;
  } else releaseApi(sockets);
  leaveIfAlone();
}

/** The run folder. */
function setHome(folder: string): void {
  if (home === undefined) setTitle("logger", dirname(folder));
  home = folder;
}

async function close(): Promise<void> {
  if (closing) return;
  closing = true;
  await logger.close(!process.connected);
  send({ t: "closed" });
  await leave();
}

async function leave(): Promise<void> {
  closing = true;
  await Promise.race([post(), new Promise((resolve) => setTimeout(resolve, LAST_MS))]);
  if (process.connected) process.disconnect();
  // An exit waits for the thread pool, and a write to a stopped terminal never returns.
  if (logger.isStuck) process.kill(process.pid, "SIGKILL");
  process.exit(0);
}

process.on("message", (messages: unknown) => {
  const batch = messagesIn<ToLogger | ListeningSocket>(messages).filter(
    (message): message is ToLogger => !isForKeeping(message),
  );
  for (const message of batch) if (message.t === "home") setHome(message.folder);
  logger.receive(batch);
});
process.on("disconnect", () => void onAlone());
// Signals to a whole group or session are meant for others: the logger ends when all output is written.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
process.on("SIGUSR2", () => logger.reopen());
makeThreads();
send({ t: "ready", version: VERSION });
