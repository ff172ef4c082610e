/** What each step of a soak does. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { fill } from "../faults/full-disk.ts";
import { monotonicMs } from "../programs/run-diary.mjs";
import type { Kill } from "../support/fault-verdict.ts";
import type { KillableProcman } from "../support/killable-procman.ts";
import { kill, marked } from "../support/marked-processes.ts";
import { isAlive, within } from "../support/procman-process.ts";
import { SeededRandom } from "../support/seeded-random.ts";
import { writeWhole } from "../support/whole-file.ts";
import type { Disturbance, SoakAccount } from "./soak-account.ts";
import type { Reply, SoakClient } from "./soak-client.ts";
import {
  FIRST_INSTANCES,
  FIRST_VARIANT,
  FLOOD,
  MOST_INSTANCES,
  NAME,
  PLUGIN_FAULTS,
  type Places,
  POOL,
  type SoakPorts,
  soakConfig,
  soakProcesses,
  TOYS,
  type Variant,
  VICTIMS,
  WATCHED,
  WEB,
} from "./soak-load.ts";
import { partsIn } from "./soak-sampler.ts";
import type { Step, StepKind } from "./soak-schedule.ts";

export type Soak = {
  readonly procman: KillableProcman;
  readonly client: SoakClient;
  readonly account: SoakAccount;
  readonly places: Places;
  /** `disk` is a small one that may be filled. */
  readonly canFill: boolean;
  readonly ports: SoakPorts;
  readonly kills: Kill[];
  /** Runs `procman` with these arguments. */
  readonly command: (args: readonly string[]) => Promise<{ readonly code: number; readonly output: string }>;
  /** What the configuration file has now. */
  variant: Variant;
  /** Ends when the last kill or upgrade is over: two at a time could leave no part alive. */
  calm: Promise<void>;
};

type Action = (soak: Soak, random: SeededRandom, step: Step) => Promise<void>;

/** Time in which a process that was killed or changed runs again. Milliseconds. */
const COMEBACK_MS = 30_000;
/** Seconds: a process whose dependency was stopped does not start, and is answered with 504 then. */
const WAIT = "?wait=20";
/** From SIGKILL to the end of a process, on a busy machine. Milliseconds. */
const ENDING_MS = 10_000;
const DISK_FULL_MS = 8_000;
const FLOOD_MS = 1_000;
/** Longer than a plugin waits for its restart. Milliseconds. */
const PLUGIN_AWAY_MS = 150_000;
const DOWN: readonly Disturbance[] = ["start", "kill", "upgrade"];

export function act(soak: Soak, step: Step): Promise<void> {
  soak.account.count(step.kind);
  return ACTIONS[step.kind](soak, new SeededRandom(step.seed), step);
}

/** A request whose answer must have one of these statuses, unless procman was killed meanwhile. */
async function ask(soak: Soak, request: string, right: readonly number[], body?: object): Promise<Reply> {
  const [method = "", path = ""] = request.split(" ");
  const from = monotonicMs();
  const reply = await soak.client.ask(method, path, body === undefined ? {} : { body });
  soak.account.count("requests");
  if (!right.includes(reply.status) && soak.account.isCalm(from, DOWN))
    soak.account.find(
      "answer",
      `${request}: ${reply.status} after ${Math.round(reply.ms)} ms: ${reply.text.slice(0, 300)}`,
    );
  return reply;
}

const PATHS = {
  "/processes": 12,
  [`/processes/${WEB}`]: 4,
  "/state": 4,
  "/metrics": 4,
  "/health": 3,
  "/logs?limit=100&process=print": 4,
  "/logs?limit=20&search=green&process=print-errors": 2,
  "/logs?limit=500&severity=warn": 2,
  "/processes/print/metrics?step=10": 3,
  "/processes/crash-quick/runs": 2,
  "/processes/crash-slow/incidents?limit=5": 2,
  "/processes/toy/definition": 1,
  "/plan": 1,
  "/openapi.json": 0.5,
};

async function request(soak: Soak, random: SeededRandom): Promise<void> {
  const path = random.weighted(PATHS);
  const from = monotonicMs();
  const { status, ms } = await ask(soak, `GET ${path}`, [200]);
  if (path === "/processes" && status === 200 && soak.account.isCalm(from, DOWN)) soak.account.answerMs.push(ms);
}

async function refusal(soak: Soak, random: SeededRandom): Promise<void> {
  const which = random.of(["token", "path", "query", "host", "body"] as const);
  const from = monotonicMs();
  const [reply, right] = await {
    token: async () => [await soak.client.ask("GET", "/state", { token: "a.b.c" }), [401, 429]] as const,
    path: async () => [await soak.client.ask("POST", "/processes/nobody/start"), [404]] as const,
    query: async () => [await soak.client.ask("GET", "/logs?limt=1"), [400]] as const,
    host: async () => [await soak.client.ask("GET", "/state", { host: "evil.example" }), [403]] as const,
    body: async () =>
      [await soak.client.ask("POST", `/processes/${POOL}/scale`, { body: { instances: 0 } }), [400]] as const,
  }[which]();
  if (!(right as readonly number[]).includes(reply.status) && soak.account.isCalm(from, DOWN))
    soak.account.find("answer", `a wrong ${which}: ${reply.status} ${reply.text.slice(0, 300)}`);
}

async function report(soak: Soak, random: SeededRandom): Promise<void> {
  const memory = { rss: 1, heapTotal: 1, heapUsed: 1, external: 1 };
  const body = { process: "toy", memory, cwd: "/", sent: new Date().toISOString(), metrics: { value: random.next() } };
  await ask(soak, "POST /telemetry", [200, 429], body);
  // While the disk is full, no line can be stored.
  await ask(soak, "POST /log", [201, 429, ...(soak.account.isCalm(monotonicMs(), ["disk"]) ? [] : [503])], {
    text: "a line of the soak",
  });
}

async function stream(soak: Soak, random: SeededRandom): Promise<void> {
  const path = random.of([
    "/events",
    "/events?types=log,process.state",
    "/logs?follow=1&process=print-rotated",
    "/logs?follow=1",
  ]);
  const from = monotonicMs();
  const { status, items, isCut } = await soak.client.stream(path, random.between(2_000, 20_000));
  soak.account.count("streamed items", items.length);
  if ((status !== 200 || isCut) && soak.account.isCalm(from, DOWN))
    soak.account.find("stream", `${path}: ${status}, cut: ${isCut}`);
  if (path.includes("process=print-rotated")) checkNumbers(soak, items, from);
}

/** The lines of a run follow each other, as far as all were stored. */
function checkNumbers({ account }: Soak, items: readonly string[], from: number): void {
  const last = new Map<string, number>();
  for (const item of items) {
    const { text } = JSON.parse(item) as { readonly text?: string };
    const [, run = "", digits] = /^print-rotated (\S+) (\d+) /.exec(text ?? "") ?? [];
    if (digits === undefined) continue;
    const [number, before] = [Number(digits), last.get(run)];
    last.set(run, number);
    if (before === undefined || number === before + 1) continue;
    if (number > before && !account.isCalm(from, ["disk", ...DOWN])) continue;
    account.find("followed lines", `line ${number} of ${run} came after ${before}`);
  }
}

/** What the page asks for, from the sign-in on. */
async function dashboard(soak: Soak, random: SeededRandom): Promise<void> {
  const page = await ask(soak, "GET /", [200]);
  for (const [, asset] of page.text.matchAll(/(?:src|href)="\.?\/?(assets\/[^"]+)"/g))
    await ask(soak, `GET /${asset}`, [200]);
  const { text } = await ask(soak, "POST /dashboard/code", [200], {});
  const code = /"code":"([^"]+)"/.exec(text)?.[1];
  if (code === undefined) return;
  await ask(soak, "POST /dashboard/token", [200], { code });
  const events = soak.client.stream("/events", 15_000);
  for (let round = 0; round < 3; round += 1) {
    await ask(soak, "GET /processes", [200]);
    await sleep(5_000);
  }
  const id = random.of(VICTIMS);
  for (const what of ["metrics?step=15", "runs", "incidents", "definition"])
    await ask(soak, `GET /processes/${id}/${what}`, [200]);
  await ask(soak, "GET /logs?limit=200", [200]);
  await events;
}

const COMMANDS = [
  ["status"],
  ["status", "--json"],
  ["logs", "print", "-n", "50"],
  ["why", "crash-quick"],
  ["list"],
  ["ports"],
] as const;
/** `status` ends with 3 while a process is down. */
const RIGHT_CODES = [0, 3];

async function command(soak: Soak, random: SeededRandom): Promise<void> {
  const args = random.of(COMMANDS);
  const from = monotonicMs();
  const { code, output } = await soak.command(args);
  if (!RIGHT_CODES.includes(code) && soak.account.isCalm(from, DOWN))
    soak.account.find("command", `${args.join(" ")}: code ${code}: ${output.slice(-300)}`);
}

/** Clients of the common port: each gets an answer, unless the balancer is killed. */
async function connections(soak: Soak): Promise<void> {
  const from = monotonicMs();
  const replies = await Promise.all(Array.from({ length: 10 }, () => soak.client.visit(soak.ports.web)));
  soak.account.count("connections", replies.length);
  const failed = replies.filter(({ status }) => status !== 200);
  if (failed.length > 0 && soak.account.isCalm(from, ["start", "kill"]))
    soak.account.find(
      "common port",
      `${failed.length} of ${replies.length} clients: ${failed[0]?.status} ${failed[0]?.text}`,
    );
}

async function recordOf({ client }: Soak, id: string): Promise<ProcessRecord | undefined> {
  const { status, text } = await client.ask("GET", `/processes/${id}`);
  return status === 200 ? (JSON.parse(text) as ProcessRecord) : undefined;
}

/** Fails if `holds` does not become true in time, unless procman is killed meanwhile. */
async function comesBack(
  soak: Soak,
  id: string,
  why: string,
  holds: (record: ProcessRecord) => boolean,
): Promise<void> {
  const from = monotonicMs();
  let last: ProcessRecord | undefined;
  for (; monotonicMs() < from + COMEBACK_MS; await sleep(250)) {
    last = (await recordOf(soak, id)) ?? last;
    if (last !== undefined && holds(last)) return;
  }
  if (soak.account.isCalm(from, DOWN)) soak.account.find("comeback", `${id} after ${why}: ${JSON.stringify(last)}`);
}

async function crash(soak: Soak, random: SeededRandom): Promise<void> {
  const [id, signal] = [random.of(VICTIMS), random.of(["SIGKILL", "SIGSEGV", "SIGTERM"] as const)];
  const before = await recordOf(soak, id);
  const pid = before?.status === "running" ? before.pid : undefined;
  // The pid of an ended child may belong to another program.
  if (pid === undefined || !marked(soak.procman.mark).some((each) => each.pid === pid)) return;
  kill(pid, signal);
  await comesBack(soak, id, signal, (record) => record.status === "running" && record.pid !== pid);
}

async function operate(soak: Soak, random: SeededRandom): Promise<void> {
  const action = random.weighted({ start: 4, stop: 3, restart: 4, block: 1, unblock: 3, disable: 1, enable: 3 });
  const wait = ["start", "stop", "restart"].includes(action) ? WAIT : "";
  await ask(soak, `POST /processes/${random.of(TOYS)}/${action}${wait}`, [200, 409, 504]);
}

async function scale(soak: Soak, random: SeededRandom): Promise<void> {
  const instances = Math.floor(random.between(1, MOST_INSTANCES + 1));
  const end = soak.account.begin("web", "scale");
  await ask(soak, `POST /processes/${random.of([WEB, POOL])}/scale`, [200, 409], { instances });
  end();
}

async function roll(soak: Soak): Promise<void> {
  const end = soak.account.begin("web", "roll");
  await ask(soak, `POST /processes/${WEB}/restart${WAIT}`, [200, 409, 504]);
  end();
}

async function reload(soak: Soak, random: SeededRandom): Promise<void> {
  const pool = Math.floor(random.between(1, MOST_INSTANCES + 1));
  soak.variant = { pool, text: String(random.of([1, 2, 3])), hasExtra: random.next() < 0.5 };
  writeConfig(soak);
  await ask(soak, `POST /reload${WAIT}`, [200, 409, 504]);
}

/** A service may start at any moment. */
function writeConfig({ places, ports, variant }: Soak): void {
  const text = JSON.stringify({ name: NAME, ...soakConfig(places), processes: soakProcesses(places, ports, variant) });
  writeWhole(join(places.folder, "procman.json"), text);
}

async function watch(soak: Soak, random: SeededRandom): Promise<void> {
  const before = await recordOf(soak, WATCHED);
  if (before?.status !== "running") return;
  const folder = join(soak.places.folder, "watched");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `file-${Math.floor(random.between(0, 5))}.js`), String(random.next()));
  await comesBack(soak, WATCHED, "a change", ({ status, run = 0 }) => status === "running" && run > (before.run ?? 0));
}

async function plugin(soak: Soak, random: SeededRandom): Promise<void> {
  const end = soak.account.begin("plugin");
  const file = join(soak.places.folder, "plugin-fault");
  writeFileSync(file, random.of(PLUGIN_FAULTS));
  // A plugin that has failed before reads it only when it is started again.
  for (const until = monotonicMs() + PLUGIN_AWAY_MS; existsSync(file) && monotonicMs() < until; ) await sleep(1_000);
  await sleep(15_000);
  end();
}

async function flood(soak: Soak): Promise<void> {
  await ask(soak, `POST /processes/${FLOOD}/start`, [200, 409]);
  await sleep(FLOOD_MS);
  await ask(soak, `POST /processes/${FLOOD}/stop${WAIT}`, [200, 409]);
}

/** For a shorter time than procman keeps lines that can't be written. */
async function disk(soak: Soak): Promise<void> {
  if (!soak.canFill) return;
  const end = soak.account.begin("disk");
  const empty = fill(soak.places.disk);
  await sleep(DISK_FULL_MS);
  empty();
  end();
}

/** One after the other, each until procman answers again. */
async function inTurn(soak: Soak, action: () => Promise<void>): Promise<void> {
  const before = soak.calm;
  soak.calm = (async () => {
    await before;
    await action();
  })();
  await soak.calm;
}

/** As at the beginning: the same processes, and new parts, so that the memory of a rest can be compared with that of the first one. */
async function settle(soak: Soak, random: SeededRandom, step: Step): Promise<void> {
  await inTurn(soak, async () => {
    soak.variant = FIRST_VARIANT;
    writeConfig(soak);
    await ask(soak, `POST /reload${WAIT}`, [200, 409, 504]);
    await ask(soak, `POST /processes/${WEB}/scale`, [200, 409], { instances: FIRST_INSTANCES });
    for (const toy of TOYS)
      for (const action of ["enable", "unblock", "start"])
        await ask(soak, `POST /processes/${toy}/${action}`, [200, 409]);
  });
  await killParts(soak, random, { ...step, what: "everything" });
}

function killParts(soak: Soak, _random: SeededRandom, { what = "" }: Step): Promise<void> {
  return inTurn(soak, async () => {
    const end = soak.account.begin("kill", what);
    const parts = partsIn(marked(soak.procman.mark));
    const names =
      what === "everything" ? (["keeper", "service", "logger"] as const) : (what.split(" ") as (keyof typeof parts)[]);
    const at = monotonicMs();
    const pids = names.flatMap((name) => parts[name]).filter((pid) => kill(pid));
    soak.kills.push({ what, at, pids });
    soak.account.count("kills", pids.length);
    // A keeper that is still ending would count as its own successor.
    await within(ENDING_MS, () => !pids.some((pid) => isAlive(pid)));
    if (!(await soak.procman.revive()) && what !== "everything")
      soak.account.find("revival", `after the kill of ${what} no keeper came`);
    if ((await soak.procman.answered()) === undefined)
      soak.account.find("revival", `after the kill of ${what} procman does not answer`);
    end();
  });
}

function upgrade(soak: Soak): Promise<void> {
  return inTurn(soak, async () => {
    const end = soak.account.begin("upgrade");
    const code = await soak.procman.upgrade();
    if (code !== 0) soak.account.find("upgrade", `exit code ${code}`);
    end();
  });
}

const ACTIONS: Readonly<Record<StepKind, Action>> = {
  ...{
    request,
    refusal,
    report,
    stream,
    dashboard,
    command,
    connections,
    crash,
    operate,
    scale,
    roll,
    reload,
    watch,
    plugin,
    flood,
    disk,
  },
  kill: killParts,
  upgrade,
  settle,
};
