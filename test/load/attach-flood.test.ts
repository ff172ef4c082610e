/** `procman attach` while a process writes more than a terminal can show. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, folderWith, Procman } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { TmuxTerminal } from "../support/tmux.ts";

/** Writes 20 MB/s, or what its pipe takes, until a line comes: then it says how many lines there were. */
const FLOOD = `
let [lines, isOver] = [0, false];
process.stdin.once("data", () => { isOver = true; });
function write() {
  if (isOver) return void process.stdout.write("stopped after " + lines + " lines\\n");
  let text = "";
  for (const end = lines + 1_000; lines < end; lines += 1) text += String(lines).padStart(8, "0") + " " + "x".repeat(90) + "\\n";
  process.stdout.write(text, () => setTimeout(write, 5));
}
write();
`;

/** Largest resident memory so far. Bytes. */
function peakOf(pid: number): number {
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1_024;
}

test("a flood is followed where it is, with a mark for skipped lines: the answer to a typed line is seen; nobody's memory grows", async (context) => {
  if (isMissing(context, "tmux")) return;
  const flood = { id: "flood", cmd: `exec ${process.execPath} flood.cjs`, stdin: true, autostart: true };
  const folder = folderWith(context, { processes: [flood], logger: { console: false } });
  writeFileSync(join(folder, "flood.cjs"), FLOOD);
  const procman = new Procman(folder);
  await procman.successor(0);
  const terminal = new TmuxTerminal(context, { columns: 120, rows: 30, cwd: folder });
  const marks = join(folder, "marks");
  terminal.pipe(`grep -a --line-buffered "lines are missing here" > ${marks}`);
  terminal.type(`${process.execPath} ${BIN} attach flood`);
  await terminal.see(/^\d{8} x+$/);
  const attached = terminal.foreground ?? assert.fail("nothing runs in the terminal");
  await eventually(() => /come faster than they are shown/.test(readFileSync(marks, "utf8")) || undefined);
  terminal.type("stop");
  await terminal.see(/^stopped after \d+ lines$/);
  for (const pid of [procman.pid, procman.helper("service"), procman.helper("logger"), attached])
    assert.ok(peakOf(pid) < 300_000_000, `${peakOf(pid)} bytes`);
  terminal.keys("C-c");
  await terminal.see(/^procman: left flood; the process goes on$/);
});
