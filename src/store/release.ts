/** Gives the memory of a buffer back at once. V8 lets 32 MB of buffers gather before it looks which of them are still in use. */
import type { MessagePort } from "node:worker_threads";

let nowhere: MessagePort | undefined;

/** What is sent to a closed port leaves this thread and arrives nowhere. `bytes` has a memory of its own, of no pool, and is empty afterwards. */
export function release(bytes: Buffer): void {
  if (bytes.buffer.byteLength <= Buffer.poolSize) return;
  nowhere ??= closedPort();
  nowhere.postMessage(undefined, [bytes.buffer as ArrayBuffer]);
}

function closedPort(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
