/** Segments of the log store and their indexes with damage: a reader throws nothing, and shows no line twice and all of the undamaged ones. */
import assert from "node:assert/strict";
import { join } from "node:path";
import type { LogQuery } from "../../src/core/contract/records.ts";
import { type Block, BlockBuilder, writeBlock } from "../../src/core/log-store/block.ts";
import { pack } from "../../src/core/log-store/codec.ts";
import { SegmentCompressor } from "../../src/core/log-store/compressor.ts";
import { followLogs } from "../../src/core/log-store/follow.ts";
import { readLogs } from "../../src/core/log-store/log-pages.ts";
import { repairAll, retire } from "../../src/core/log-store/maintenance.ts";
import { preamble, RecordHeader } from "../../src/core/log-store/record.ts";
import { damagedSet, type FileSet, readSet, withFiles, writeSet } from "./file-set.ts";
import type { FuzzTarget } from "./fuzz-target.ts";

/** A pid that no machine has: the segment's writer is dead. */
const WRITER = { pid: 5_000_000, startTime: "1" };
const BEGIN = 1_700_000_000_000;
const RECORDS_OF_BLOCK = 4;
const BLOCKS = 3;
const WORDS = ['"packed"', '"at":0', '"bytes":-1', "null", "[]", "1e999", "PML1", "\n"];

const headers = (["stdout", "stderr", "lifecycle"] as const).map(
  (category) => new RecordHeader({ process: "web", run: 1, category, severity: "info" }, category === "lifecycle"),
);

type Segment = { readonly content: Buffer; readonly blocks: readonly Block[]; readonly own: Buffer };

function segment(number: number): Segment {
  const [parts, own, blocks, builder] = [[preamble(BEGIN, WRITER)], [] as Buffer[], [] as Block[], new BlockBuilder(0)];
  builder.skip(parts[0]?.length ?? 0);
  for (let record = 0; record < BLOCKS * RECORDS_OF_BLOCK; record += 1) {
    const header = headers[record % headers.length] as RecordHeader;
    const lines = Buffer.from(
      `line ${number} ${record}.\n${header.isWhole ? "" : `line ${number} ${record} again.\n`}`,
    );
    const bytes = Buffer.concat([header.stamp(BEGIN + number * 1_000 + record, lines), lines]);
    parts.push(bytes);
    if (header.isOwn) own.push(bytes);
    builder.add(header, BEGIN + number * 1_000 + record, bytes.length);
    if ((record + 1) % RECORDS_OF_BLOCK === 0) blocks.push(builder.take());
  }
  return { content: Buffer.concat(parts), blocks, own: Buffer.concat(own) };
}

function indexOf(blocks: readonly Block[]): Buffer {
  return Buffer.from(blocks.map(writeBlock).join(""));
}

async function compressed({ content, blocks }: Segment): Promise<readonly [content: Buffer, index: Buffer]> {
  const [packed, found] = [[] as Buffer[], [] as Block[]];
  let at = 0;
  for (const block of blocks) {
    const bytes = await pack(content.subarray(block.at, block.at + block.bytes));
    found.push({ ...block, packed: { at, bytes: bytes.length } });
    packed.push(bytes);
    at += bytes.length;
  }
  return [Buffer.concat(packed), indexOf(found)];
}

/** A segment in each stage. */
async function wholeStore(): Promise<FileSet> {
  const [own, packed, closed, open] = [1, 2, 3, 4].map(segment) as [Segment, Segment, Segment, Segment];
  const [gz, gzIndex] = await compressed(packed);
  return {
    ...{ "logs/1.own": own.own, "logs/2.log.gz": gz, "logs/2.index": gzIndex },
    ...{ "logs/3.log": closed.content, "logs/3.index": indexOf(closed.blocks) },
    ...{ "logs/4.open": open.content, "logs/4.index": indexOf(open.blocks.slice(0, 1)) },
  };
}

const LINE = /^line \d+ \d+( again)?\.$/;

/** All lines in pages, by a limit that ends pages within records. */
async function linesOf(folder: string, query: LogQuery): Promise<readonly string[]> {
  const lines: string[] = [];
  const cursors = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const { entries, next } = await readLogs(folder, {
      ...query,
      limit: 7,
      ...(cursor === undefined ? {} : { cursor }),
    });
    lines.push(...entries.map(({ text }) => text));
    if (next === undefined) return lines.filter((text) => LINE.test(text));
    assert.ok(!cursors.has(next), `the cursor ${next} comes twice: a reader would never end`);
    cursors.add(next);
    cursor = next;
  }
}

async function followed(folder: string): Promise<readonly string[]> {
  const [lines, abort] = [[] as string[], new AbortController()];
  const timer = setTimeout(() => abort.abort(), 5);
  for await (const item of followLogs(folder, { from: 0, limit: 1_000 }, abort.signal))
    if (item.type === "entry") lines.push(item.entry.text);
  clearTimeout(timer);
  return lines.filter((text) => LINE.test(text));
}

export async function openLogStore(): Promise<FuzzTarget> {
  const whole = await wholeStore();
  const all = await withFiles(whole, (folder) => linesOf(folder, { order: "asc" }));
  assert.equal(new Set(all).size, 64, "lines of the undamaged store");
  return {
    input: (random) => writeSet(damagedSet(whole, random, WORDS)),
    check: (input) => {
      const files = readSet(input);
      return withFiles(files, async (folder) => {
        const expected = all.filter((line) => isWhole(numberIn(line), files, whole));
        const check = (lines: readonly string[], how: string): void => {
          for (const line of expected)
            assert.ok(lines.includes(line), `${how}: ${line} of an undamaged segment is missing`);
          for (const line of new Set(lines))
            assert.ok(
              lines.filter((each) => each === line).length <= timesIn(files, line),
              `${how}: ${line} is shown twice`,
            );
        };
        for (const order of ["asc", "desc"] as const) check(await linesOf(folder, { order }), order);
        check(await linesOf(folder, { order: "asc", search: "LINE", severity: "info" }), "a search");
        if (input.length % 16 === 0) await followed(folder);
        repairAll(join(folder, "logs"), undefined);
        await new SegmentCompressor(() => false).run(join(folder, "logs"));
        check(await linesOf(folder, { order: "asc" }), "after repair and compression");
        retire(join(folder, "logs"), { hours: 1, bytes: 1_000 }, BEGIN);
      });
    },
  };
}

function numberIn(line: string): string {
  return line.split(" ")[1] ?? "";
}

function isWhole(number: string, files: FileSet, whole: FileSet): boolean {
  const names = Object.keys(whole).filter((name) => name.startsWith(`logs/${number}.`));
  return names.every((name) => whole[name]?.equals(files[name] ?? Buffer.alloc(0)) === true);
}

/** How often the line may be shown: a doubled record is as good as one that was written twice, and a flipped bit makes one line of another. */
function timesIn(files: FileSet, line: string): number {
  const parts = Object.entries(files).map(([name, bytes]) =>
    /\.(open|log|own)$/.test(name) ? bytes.toString("latin1") : "",
  );
  return parts.reduce((sum, text) => sum + text.split(line).length - 1, numberIn(line) === "2" ? 1 : 0);
}
