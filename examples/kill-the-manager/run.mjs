#!/usr/bin/env node
// Kills a process manager ten times under load and counts what was lost: `node run.mjs [--manager procman|pm2|supervisord] [--rounds 10] [--json] [--keep]`.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { loadIn, STEADY } from "./load.mjs";
import { isAlive, within } from "./processes.mjs";
import { monotonicMs } from "./programs/instance.mjs";
import { account } from "./report.mjs";
import { checkDiary } from "./run-check.mjs";

const MANAGERS = {
  procman: async () => (await import("./managers/procman-load.mjs")).ProcmanUnderLoad,
  pm2: async () => (await import("./managers/pm2.mjs")).Pm2,
  supervisord: async () => (await import("./managers/supervisord.mjs")).Supervisord,
};

/** Delays between kills, partly random. Milliseconds. */
const REST_MS = 1_000;
const CHANCE_MS = 1_500;
/** Time for a killed part to come back. Milliseconds. */
const TIMEOUT_MS = 20_000;

const options = optionsGiven();
const printLine = options.json ? () => undefined : (text) => console.log(text);

function optionsGiven() {
  try {
    return parseArgs({
      options: {
        manager: { type: "string", default: "procman" },
        rounds: { type: "string", default: "10" },
        json: { type: "boolean", default: false },
        keep: { type: "boolean", default: false },
      },
    }).values;
  } catch (error) {
    const known = `[--manager ${Object.keys(MANAGERS).join("|")}] [--rounds 10] [--json] [--keep]`;
    console.error(`${error.message.split(". ")[0]}. Known are: ${known}`);
    process.exit(64);
  }
}

async function main() {
  const choose = MANAGERS[options.manager];
  if (choose === undefined || process.platform !== "linux") {
    console.error(
      choose === undefined
        ? `Managers are: ${Object.keys(MANAGERS).join(", ")}`
        : "This script reads /proc: it needs Linux.",
    );
    process.exitCode = 64;
    return;
  }
  const folder = mkdtempSync(join(tmpdir(), "kill-the-manager-"));
  for (const name of ["progress", "logs"]) mkdirSync(join(folder, name));
  const manager = new (await choose())({ folder, load: loadIn(folder, await freePorts()) });
  try {
    await run(manager, folder);
  } finally {
    manager.destroy();
    if (!options.keep) rmSync(folder, { recursive: true, force: true });
  }
}

async function run(manager, folder) {
  printLine(`${manager.name}, in ${folder}: two processes print, two crash, two serve.\n`);
  await manager.start();
  if (!(await within(TIMEOUT_MS, () => livingIn(folder).length === STEADY.length)))
    throw new Error("it does not start");
  const kills = [];
  for (let round = 0; round < Number(options.rounds); round += 1)
    for (const part of manager.parts) kills.push(await killOnce(manager, folder, { part, number: kills.length + 1 }));
  await sleep(REST_MS);
  const left = await manager.end();
  const result = account({ folder, kills, exits: manager.exits(), left });
  if (options.json) console.log(JSON.stringify({ manager: manager.name, ...result, backMs: backOf(kills) }));
  else printResult(result, kills);
}

async function killOnce(manager, folder, { part, number }) {
  await sleep(REST_MS + Math.random() * CHANCE_MS);
  const before = livingIn(folder);
  const at = monotonicMs();
  const pids = manager.kill(part);
  const byItself = await manager.comeBack();
  const isBack = await within(TIMEOUT_MS, async () => covers(await manager.running(), STEADY), 20);
  const backMs = isBack ? monotonicMs() - at : undefined;
  const died = before.filter((pid) => !isAlive(pid)).map(String);
  const copies = livingIn(folder).length - STEADY.length;
  const what = `${String(number).padStart(3)}  killed ${part.padEnd(10)} (pid ${pids.join(", ")})`.padEnd(56);
  const back =
    backMs === undefined
      ? "is not back"
      : `back after ${(backMs / 1_000).toFixed(2)} s${byItself ? "" : ", started again"}`;
  const fate = [died.length > 0 ? `${died.length} died` : "", copies > 0 ? `${copies} run twice` : ""]
    .filter(Boolean)
    .join(", ");
  printLine(`${what} ${back.padEnd(34)} ${fate || "all keep running"}`);
  return { part, at, backMs, died };
}

function covers(running, wanted) {
  return wanted.every((id) => running.includes(id));
}

/** Pids of the living steady processes, by their diary. */
function livingIn(folder) {
  if (!existsSync(join(folder, "diary.jsonl"))) return [];
  const { runs } = checkDiary(folder);
  return runs
    .filter(({ id, pid, to }) => STEADY.includes(id) && to === undefined && isAlive(pid))
    .map(({ pid }) => pid);
}

function backOf(kills) {
  const parts = [...new Set(kills.map(({ part }) => part))];
  return Object.fromEntries(
    parts.map((part) => {
      const times = kills.filter((kill) => kill.part === part).map(({ backMs }) => backMs ?? Infinity);
      const sorted = times.sort((a, b) => a - b);
      return [part, { median: Math.round(sorted[Math.floor(sorted.length / 2)]), worst: Math.round(sorted.at(-1)) }];
    }),
  );
}

function printResult(result, kills) {
  const rows = [
    ["kills", result.kills],
    ["processes that died", result.died],
    ["restarts of processes that had not ended", result.restarts],
    ["second copies beside a living first", result.copies],
    ["lines printed", `${result.lines} (${result.megabytes} MB)`],
    ["lines missing", result.missing],
    ["lines doubled or out of order", result.doubled],
    ["lines damaged", result.damaged],
    ["bytes missing where the log says so", result.marked],
    ["crashes", result.exits],
    ["exit codes lost", result.exitsLost],
    ["processes left behind at the end", result.left],
  ];
  printLine("");
  for (const [what, value] of rows) printLine(`${what.padEnd(44)} ${value}`);
  for (const [part, { median, worst }] of Object.entries(backOf(kills)))
    printLine(`${`${part}: back after (median, worst)`.padEnd(44)} ${median} ms, ${worst} ms`);
  for (const finding of result.findings.slice(0, 10)) printLine(`  ${finding}`);
}

/** The first of two free ports, below the range that the system gives to clients. */
async function freePorts() {
  for (;;) {
    const first = 10_000 + Math.floor(Math.random() * 10_000);
    if ((await isFree(first)) && (await isFree(first + 1))) return first;
  }
}

function isFree(port) {
  return new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

await main();
