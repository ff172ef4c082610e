/** Settings of Node in procman's own processes; docs/design/performance.md has the figures. */
import { stat } from "node:fs";
import { setFlagsFromString } from "node:v8";

/**
 * Delay after which a start has loaded all its code. A process whose flags have changed rejects code caches, both
 * Node's own and that of `code-cache`; flags on the command line would make each start 20 ms longer with Node 20 and
 * 22. Milliseconds.
 */
const AFTER_START_MS = 1_000;

/**
 * After a burst of work V8 keeps 16 MB and more for short-lived objects. From now on that space keeps its current size:
 * collections are more frequent, but each is cheap.
 */
export function holdYoungGeneration(): void {
  setFlagsFromString("--semi-space-growth-factor=1");
}

export function holdYoungGenerationLater(): void {
  setTimeout(holdYoungGeneration, AFTER_START_MS).unref();
}

/** For the keeper: a fork copies the page tables of all memory in use. */
export function stayCompactLater(): void {
  holdYoungGenerationLater();
  setTimeout(() => setFlagsFromString("--optimize-for-size"), AFTER_START_MS).unref();
}

/**
 * Node makes its threads for files at the first asynchronous call, and aborts the process if the limit of processes is
 * reached by then. Service and logger make them before the first run is started.
 */
export function makeThreads(): void {
  stat("/", () => undefined);
}
