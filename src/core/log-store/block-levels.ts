/** What the lines of a block say of their severity, for its index: so later queries skip the block without reading it. */
import type { IdMask } from "./block.ts";
import { isOutput, type LineLevels } from "./level-rules.ts";
import { type FoundRecord, idOf, isEntry, maskOf, recordAt } from "./record.ts";

const NEWLINE = 0x0a;

/** The pairs of severity and category (`maskOf`) of the entries of each process. */
export function saidIn(bytes: Buffer, levels: LineLevels): readonly IdMask[] {
  const ids = new Map<string, number>();
  for (let record = recordAt(bytes, 0); record !== undefined; record = recordAt(bytes, record.end)) {
    if (!isEntry(record)) continue;
    const id = idOf(bytes, record);
    ids.set(id, (ids.get(id) ?? 0) | masksIn(bytes, record, levels));
  }
  return [...ids];
}

function masksIn(bytes: Buffer, { dataStart, end, severity, category, isWhole }: FoundRecord, levels: LineLevels) {
  const own = maskOf(severity, category);
  if (!isOutput(category) || !levels.mayBeIn(bytes, dataStart, end)) return own;
  let mask = 0;
  for (let start = dataStart; start < end; ) {
    const lineEnd = isWhole ? end - 1 : bytes.indexOf(NEWLINE, start);
    const level = levels.of(bytes, start, lineEnd);
    mask |= level === -1 ? own : maskOf(level, category);
    start = lineEnd + 1;
  }
  return mask;
}
