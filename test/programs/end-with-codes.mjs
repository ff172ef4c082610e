// Runs for a while and ends with a code that follows from its pid: `end-with-codes.mjs FOLDER ID SHORTEST_MS LONGEST_MS`.
import { writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { lineOf } from "./numbered-lines.mjs";
import { Instance } from "./run-diary.mjs";

const [folder, id, shortest, longest] = process.argv.slice(2);
const instance = new Instance(folder, id);
let printed = 0;
instance.last = () => ({ printed });
print();
await sleep(Number(shortest) + Math.random() * (Number(longest) - Number(shortest)));
print();
instance.end(1 + (process.pid % 100));

function print() {
  writeSync(1, `${lineOf(id, instance.run, printed + 1)}\n`);
  printed += 1;
}
