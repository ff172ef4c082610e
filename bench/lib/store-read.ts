// Creates a store (argv: folder, number of lines), compresses all but the last segment, then measures queries in a fresh process.
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { SegmentCompressor } from "../../src/core/log-store/compressor.ts";
import { readLogs } from "../../src/core/log-store/log-pages.ts";
import { RecordHeader } from "../../src/core/log-store/record.ts";
import { logsFolder, segmentFile, segmentsIn } from "../../src/core/log-store/segment-files.ts";
import { LogStore } from "../../src/core/log-store/store.ts";

const [dir = "", count = "10000000", mode = "make"] = process.argv.slice(2);

async function make(lines: number): Promise<void> {
  const store = new LogStore({ problem: (_folder, error) => console.error(error), recovered: () => undefined });
  store.folder = logsFolder(dir);
  const labels = Array.from({ length: 10 }, (_, number) => new RecordHeader({ process: `web-${number + 1}`, instance: number + 1, run: 1, category: "stdout", severity: "info" }, false));
  const error = new RecordHeader({ process: "db", run: 3, category: "stderr", severity: "error" }, false);
  let seed = 1;
  const random = (): number => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648);
  for (let line = 0; line < lines; ) {
    let text = "";
    for (const end = Math.min(lines, line + 650); line < end; line += 1)
      text += `${`2026-11-21T10:00:00.${String(line % 1000).padStart(3, "0")}Z INFO request id=${random().toString(16)} GET /api/users/${random() % 9973} status=${random() % 17 ? 200 : 500} took ${random() % 997}ms`.padEnd(99).slice(0, 99)}\n`;
    store.add(labels[(line / 650) % 10 | 0] as RecordHeader, Buffer.from(text));
    if (line % (650 * 300) < 650) store.add(error, Buffer.from(`connection lost at line ${line}\n`));
    if (line % 6500 < 650) await new Promise((resolve) => setImmediate(resolve));
  }
  store.end();
  await new SegmentCompressor(() => false).run(logsFolder(dir));
}

async function measure(): Promise<void> {
  const memory = (): number => process.memoryUsage().rss;
  await readLogs(dir, { limit: 1 });
  const [before, delay] = [memory(), monitorEventLoopDelay({ resolution: 1 })];
  let peak = before;
  const timer = setInterval(() => (peak = Math.max(peak, memory())), 5);
  delay.enable();
  const result: Record<string, number> = {};
  for (const [name, query] of Object.entries({
    firstMs: {},
    severityMs: { severity: "error" },
    processMs: { processes: ["db"], order: "asc" },
    clusterMs: { processes: ["web"], severity: "warn" },
    textMs: { search: "STATUS=500" },
    absentMs: { search: "no such text" },
  } as const)) {
    const began = performance.now();
    const { entries } = await readLogs(dir, query);
    result[name] = performance.now() - began;
    result[`${name.slice(0, -2)}Entries`] = entries.length;
  }
  clearInterval(timer);
  const bytes = segmentsIn(logsFolder(dir)).reduce((sum, segment) => sum + statSync(segmentFile(logsFolder(dir), segment)).size, 0);
  console.log(JSON.stringify({ ...result, memoryMB: (peak - before) / 1e6, loopP99Ms: delay.percentile(99) / 1e6, loopMaxMs: delay.max / 1e6, storeMB: bytes / 1e6 }));
}

if (mode === "measure") await measure();
else {
  await make(Number(count));
  for (let run = 0; run < 3; run += 1)
    process.stdout.write(execFileSync(process.execPath, ["--import", "tsx", import.meta.filename, dir, count, "measure"], { encoding: "utf8" }));
}
