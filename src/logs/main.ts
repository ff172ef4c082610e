/** The logger process: started by the keeper, told what to read by IPC. It holds bytes, never decisions. */
import { VERSION } from "../base/version.ts";
import type { SocketWord } from "../contract/keeper-protocol.ts";
import type { FromLogger, ToLogger } from "../contract/logger-protocol.ts";
import { isForKeeping, keepSockets } from "../os/kept-sockets.ts";
import { takeRevival } from "../os/revival.ts";
import { holdYoungGeneration } from "../os/v8-flags.ts";
import { Logger } from "./logger.ts";
import { callForKeeper } from "./orphan.ts";

process.title = "procman: logger";
const revival = takeRevival();
const sockets = keepSockets();
// Time stamps make short-lived strings by the megabyte.
holdYoungGeneration();

/** So long for the last messages, to a keeper that doesn't read them. */
const LAST_MS = 1000;

/** Messages of one turn of the event loop travel together. */
let outbox: FromLogger[] = [];
let closing = false;
let home: string | undefined;

const logger = new Logger({ tell, idle: leaveIfAlone, close: () => void close(), handedOver: () => void leave() });

function tell(message: FromLogger): void {
  if (outbox.length === 0) setImmediate(() => void post());
  outbox.push(message);
}

function post(): Promise<void> {
  const batch = outbox;
  outbox = [];
  if (batch.length === 0 || !process.connected) return Promise.resolve();
  // An error here means that the keeper is gone, which `disconnect` tells too.
  return new Promise((resolve) => process.send?.(batch, undefined, undefined, () => resolve()));
}

/** With the keeper gone, its children still write: the logger stays until the last of them has ended. */
function leaveIfAlone(): void {
  if (!process.connected && logger.isIdle) void close();
}

async function close(): Promise<void> {
  if (closing) return;
  closing = true;
  await logger.close(!process.connected);
  tell({ t: "closed" });
  await leave();
}

async function leave(): Promise<void> {
  closing = true;
  await Promise.race([post(), new Promise((resolve) => setTimeout(resolve, LAST_MS))]);
  if (process.connected) process.disconnect();
  // An exit waits for the thread pool, and a thread that writes to a stopped terminal never comes back.
  if (logger.isStuck) process.kill(process.pid, "SIGKILL");
  process.exit(0);
}

process.on("message", (messages: readonly (ToLogger | SocketWord)[]) => {
  const batch = messages.filter((message): message is ToLogger => !isForKeeping(message));
  for (const message of batch) if (message.t === "home") home = message.folder;
  logger.receive(batch);
});
process.on("disconnect", () => {
  logger.checkAll();
  leaveIfAlone();
  if (!closing && revival !== undefined && home !== undefined) void callForKeeper(revival, home, sockets);
});
// Sent to a whole group or session, these are meant for others: the logger ends when all output is written.
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
process.on("SIGUSR1", () => logger.handOver());
process.on("SIGUSR2", () => logger.reopen());
tell({ t: "ready", version: VERSION });
