/** Reads a whole log store (argv: state folder), and prints the most memory that this took, in bytes. */
import { readLogs } from "../../src/core/log-store/log-pages.ts";

const [stateDir = ""] = process.argv.slice(2);
// The first queries load code, which doesn't count.
await readLogs(stateDir, { search: "a text that is nowhere", limit: 1, to: 0 });
await readLogs(stateDir, { limit: 1 });
const before = process.memoryUsage.rss();
let peak = before;
const timer = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss());
}, 5);
for (const query of [
  { search: "a text that is nowhere" },
  { severity: "error" },
  { limit: 10_000 },
  { search: "LINE 7", limit: 10_000 },
] as const)
  await readLogs(stateDir, query);
clearInterval(timer);
console.log(peak - before);
