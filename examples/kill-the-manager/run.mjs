#!/usr/bin/env node
// Kills each part of procman under load and counts what was lost: `node run.mjs [ROUNDS]`.
import { createReadStream, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { Procman } from "procman";
import { lineOf } from "./program.mjs";

const [rounds = "10"] = process.argv.slice(2);
const STEADY = ["print-1", "print-2", "serve"];
/** procman writes it where a killed logger may have lost what it had read. */
const MARK = "[procman: the logger was restarted here; up to 64 KiB of output may be missing]";

const folder = mkdtempSync(join(tmpdir(), "kill-the-manager-"));
const diary = join(folder, "diary.jsonl");
const config = { name: "load", processes: [...STEADY, "crash"].map(processOf) };
let procman = await Procman.run(config, { cwd: folder });
try {
  const kills = await killAll();
  const exits = await procman.logs({ process: "crash", search: "exited with code", limit: 10_000 });
  await procman.terminate();
  console.log(JSON.stringify({ kills, ...(await count()), exitCodesRecorded: exits.entries.length }, undefined, 2));
} finally {
  rmSync(folder, { recursive: true });
}

function processOf(id) {
  const program = new URL("program.mjs", import.meta.url).pathname;
  const cmd = `node ${program} ${id.split("-")[0]} ${diary} ${id}`;
  const logger = { stdout: join(folder, `${id}.log`), rotate: false };
  return { id, cmd, logger, autostart: true, restart: "always", restartDelayMs: 100 };
}

async function killAll() {
  let kills = 0;
  for (let round = 0; round < Number(rounds); round += 1)
    for (const parts of [["service"], ["logger"], ["keeper"], ["service", "logger", "keeper"]]) {
      await sleep(1_000 + Math.random() * 1_500);
      const began = performance.now();
      await kill(parts);
      kills += 1;
      console.log(`killed ${parts.join(", ")}: back after ${Math.round(performance.now() - began)} ms`);
    }
  return kills;
}

/** Resolves when other processes do the work of the killed ones. */
async function kill(parts) {
  const before = await pidsOf(parts);
  for (const pid of before) process.kill(pid, "SIGKILL");
  // A killed part is replaced. When all are killed, nobody is left to do that.
  if (parts.length === 3) procman = await Procman.run(config, { cwd: folder });
  for (const end = Date.now() + 20_000; ; await sleep(10)) {
    const after = await pidsOf(parts).catch(() => []);
    if (after.length === parts.length && !after.some((pid) => before.includes(pid))) return;
    if (Date.now() > end) throw new Error(`${parts.join(", ")}: not back after 20 s`);
  }
}

async function pidsOf(names) {
  const { parts } = await procman.state();
  return parts.filter(({ part, pid }) => names.includes(part) && pid > 0).map(({ pid }) => pid);
}

async function count() {
  const notes = readFileSync(diary, "utf8").trim().split("\n").map(JSON.parse);
  const crashes = notes.filter(({ id, what, code }) => id === "crash" && what === "end" && code > 0);
  const lines = { lines: 0, missing: 0, marked: 0, doubled: 0, damaged: 0 };
  for (const { id, printed } of notes.filter(({ id, what }) => id.startsWith("print") && what === "end"))
    await countLines(join(folder, `${id}.log`), printed, lines);
  return {
    restartsOfRunning: notes.filter(({ id, what }) => STEADY.includes(id) && what === "start").length - STEADY.length,
    ...lines,
    crashes: crashes.length,
  };
}

/** Adds up in `sum`. `marked`: lines missing at a mark; the logger may have cut the lines before and after it. */
async function countLines(file, printed, sum) {
  let next = 1;
  let isMarked = false;
  let pieces = 0;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const number = Number.parseInt(line, 10);
    if (line === MARK) {
      isMarked = true;
      pieces = 0;
    } else if (line !== lineOf(number)) pieces += isMarked ? 0 : 1;
    else if (number < next) sum.doubled += 1;
    else {
      sum.lines += 1;
      sum.damaged += pieces;
      sum[isMarked ? "marked" : "missing"] += number - next;
      next = number + 1;
      isMarked = false;
      pieces = 0;
    }
  }
  sum.damaged += pieces;
  sum[isMarked ? "marked" : "missing"] += printed + 1 - next;
}
