#!/usr/bin/env node
// Kills a process manager ten times under load and counts what was lost: `node run.mjs [--manager procman|pm2|supervisord] [--rounds 10] [--json] [--keep]`.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { countLines } from "./lines.mjs";
import { isAlive, kill, within } from "./processes.mjs";

const MANAGERS = ["procman", "pm2", "supervisord"];
const PROGRAM = fileURLToPath(new URL("program.mjs", import.meta.url));
/** A killed part has this time to come back. Milliseconds. */
const TIMEOUT_MS = 20_000;
const PRINTERS = ["print-1", "print-2"];
/** These end only if the manager's death ends them. */
const STEADY = [...PRINTERS, "serve-1", "serve-2"];

const { manager: chosen, rounds, json, keep } = optionsGiven();
const print = json ? () => undefined : (text) => console.log(text);
const folder = mkdtempSync(join(tmpdir(), "kill-the-manager-"));
for (const name of ["progress", "logs"]) mkdirSync(join(folder, name));
const { Manager } = await import(`./managers/${chosen}.mjs`);
const manager = new Manager(folder, load());
try {
  await run();
} finally {
  for (const { pid, ended } of readDiary().runs) if (!ended) kill(pid);
  if (!keep) rmSync(folder, { recursive: true, force: true });
}

function optionsGiven() {
  const known = `[--manager ${MANAGERS.join("|")}] [--rounds 10] [--json] [--keep]`;
  try {
    const { values } = parseArgs({
      options: {
        manager: { type: "string", default: "procman" },
        rounds: { type: "string", default: "10" },
        json: { type: "boolean", default: false },
        keep: { type: "boolean", default: false },
      },
    });
    if (process.platform !== "linux") throw new Error("This script reads /proc: it needs Linux. ");
    if (!MANAGERS.includes(values.manager)) throw new Error(`${values.manager} is not a manager. `);
    return values;
  } catch (error) {
    console.error(`${error.message.split(". ")[0]}. Known are: ${known}`);
    process.exit(64);
  }
}

function load() {
  return [...STEADY, "crash-1", "crash-2"].map((id) => ({
    id,
    argv: [process.execPath, PROGRAM, id.split("-")[0], folder, id],
    log: join(folder, "logs", `${id}.log`),
  }));
}

async function run() {
  print(`${manager.name}, in ${folder}: two processes print, two serve, two crash.\n`);
  await manager.start();
  if (!(await within(TIMEOUT_MS, () => steadyPids().length === STEADY.length))) throw new Error("it does not start");
  const kills = [];
  for (let round = 0; round < Number(rounds); round += 1)
    for (const part of manager.parts) kills.push(await killOnce(part, kills.length + 1));
  await sleep(1_000);
  await manager.end();
  const backMs = Object.fromEntries(manager.parts.map((part) => [part, timesOf(kills, part)]));
  const result = await count(kills);
  if (json) console.log(JSON.stringify({ manager: manager.name, ...result, backMs }));
  else printResult(result, backMs);
}

async function killOnce(part, number) {
  await sleep(1_000 + Math.random() * 1_500);
  const before = steadyPids();
  const began = performance.now();
  const pids = await manager.kill(part);
  const byItself = (await manager.comeBack(part)) ?? false;
  const isBack = await within(TIMEOUT_MS, async () => {
    const running = await manager.running();
    return STEADY.every((id) => running.includes(id));
  });
  const backMs = isBack ? Math.round(performance.now() - began) : Number.POSITIVE_INFINITY;
  const died = before.filter((pid) => !isAlive(pid)).length;
  const copies = Math.max(0, steadyPids().length - STEADY.length);
  const back = `back after ${(backMs / 1_000).toFixed(2)} s${byItself ? "" : ", started again"}`;
  const fate = died + copies === 0 ? "all keep running" : `${died} died, ${copies} run twice`;
  print(
    `${String(number).padStart(3)}  ${`killed ${part} (pid ${pids.join(", ")})`.padEnd(46)} ${back.padEnd(34)} ${fate}`,
  );
  return { part, backMs, died };
}

/** The runs by the diary of the processes, and the findings of those that ran beside another one. */
function readDiary() {
  const runs = new Map();
  const findings = [];
  const file = join(folder, "diary.jsonl");
  for (const line of existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : []) {
    const { what, run, ...note } = JSON.parse(line);
    if (what === "twice") findings.push(`two copies: ${note.id} runs already, pid ${note.pid} is one more`);
    else runs.set(run, { printed: 0, ...note, run, ended: what === "end" });
  }
  for (const run of readdirSync(join(folder, "progress"))) {
    const known = runs.get(run);
    if (known?.ended === false) known.printed = Number(readFileSync(join(folder, "progress", run), "utf8"));
  }
  return { runs: [...runs.values()], findings };
}

function steadyPids() {
  const living = readDiary().runs.filter(({ id, pid, ended }) => STEADY.includes(id) && !ended && isAlive(pid));
  return living.map(({ pid }) => pid);
}

async function count(kills) {
  const { runs, findings } = readDiary();
  const lines = await Promise.all(
    PRINTERS.map((id) =>
      countLines(
        join(folder, "logs", `${id}.log`),
        runs.filter((run) => run.id === id),
      ),
    ),
  );
  const sum = (what) => lines.reduce((total, each) => total + each[what], 0);
  const crashes = runs.filter(({ id, ended, asked }) => id.startsWith("crash") && ended && asked !== true);
  const left = runs.filter(({ pid, ended }) => !ended && isAlive(pid));
  return {
    kills: kills.length,
    died: kills.reduce((total, { died }) => total + died, 0),
    restarts: runs.filter(({ id }) => STEADY.includes(id)).length - STEADY.length,
    copies: findings.length,
    lines: sum("lines"),
    megabytes: Math.round(sum("bytes") / 1e6),
    missing: sum("missing"),
    doubled: sum("doubled"),
    damaged: sum("damaged"),
    marked: sum("marked"),
    exits: crashes.length,
    exitsLost: countLost(crashes, manager.exits()),
    left: left.length,
    findings: [...findings, ...left.map(({ id, pid }) => `left behind: ${id}, pid ${pid}`)],
  };
}

/** Crashes that the manager has not recorded with their exit codes, in order. */
function countLost(crashes, exits) {
  const next = new Map();
  return crashes.filter(({ id, code }) => {
    const index = exits.findIndex((exit, at) => at >= (next.get(id) ?? 0) && exit.id === id && exit.code === code);
    if (index >= 0) next.set(id, index + 1);
    return index < 0;
  }).length;
}

function timesOf(kills, part) {
  const times = kills.filter((kill) => kill.part === part).map(({ backMs }) => backMs);
  const sorted = times.sort((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)], worst: sorted.at(-1) };
}

function printResult(result, backMs) {
  const rows = {
    kills: result.kills,
    "processes that died": result.died,
    "restarts of processes that had not ended": result.restarts,
    "second copies beside a living first": result.copies,
    "lines printed": `${result.lines} (${result.megabytes} MB)`,
    "lines missing": result.missing,
    "lines doubled or out of order": result.doubled,
    "lines damaged": result.damaged,
    "bytes missing where the log says so": result.marked,
    crashes: result.exits,
    "exit codes lost": result.exitsLost,
    "processes left behind at the end": result.left,
  };
  print("");
  for (const [what, value] of Object.entries(rows)) print(`${what.padEnd(44)} ${value}`);
  for (const [part, { median, worst }] of Object.entries(backMs))
    print(`${`${part}: back after (median, worst)`.padEnd(44)} ${median} ms, ${worst} ms`);
  for (const finding of result.findings.slice(0, 10)) print(`  ${finding}`);
}
