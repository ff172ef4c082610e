/** Gives the memory of a buffer back at once. V8 lets 32 MB of buffers gather before it looks which of them are still in use. */
import type { MessagePort } from "node:worker_threads";

/** Of Node's pool, which is others' too. In Node 26 it is a little larger than `Buffer.poolSize`. */
const POOL_BYTES = Math.max(Buffer.poolSize, Buffer.from("a").buffer.byteLength);

let nowhere: MessagePort | undefined;

/** What is sent to a closed port leaves this thread and arrives nowhere. `bytes` has a memory of its own, of no pool, and is empty afterwards. */
export function release(bytes: Buffer): void {
  if (bytes.buffer.byteLength <= POOL_BYTES) return;
  nowhere ??= closedPort();
  nowhere.postMessage(undefined, [bytes.buffer as ArrayBuffer]);
}

function closedPort(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}
