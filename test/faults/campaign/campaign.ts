/**
 * A campaign: procman with processes of every kind; an operator, a killer and clients at the same time, then a rest in
 * which all is compared, again and again; an end in order or one that is cut off; the verdict; and the same once more
 * in the same folder.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, openSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Incident } from "../../../src/core/contract/run-summary.ts";
import type { StateRecord } from "../../../src/core/contract/state-record.ts";
import { monotonicMs } from "../../programs/run-diary.mjs";
import { SoakAccount } from "../../soak/soak-account.ts";
import { SoakClient } from "../../soak/soak-client.ts";
import type { Kill } from "../../support/fault-verdict.ts";
import { freePort, freeRange } from "../../support/free-ports.ts";
import type { KillableProcman } from "../../support/killable-procman.ts";
import { within } from "../../support/procman-process.ts";
import { BIN, PACKAGE } from "../../support/product.ts";
import { SeededRandom } from "../../support/seeded-random.ts";
import { version } from "../../support/versions.ts";
import { visit, wake } from "./campaign-clients.ts";
import { TypedLines } from "./campaign-input.ts";
import { CampaignKiller } from "./campaign-killer.ts";
import {
  type CampaignPlaces,
  FIRST_VARIANT,
  MOST_INSTANCES,
  PROFILE,
  processesOf,
  type Receivers,
  settings,
  type Variant,
  writeBeside,
} from "./campaign-load.ts";
import { CampaignModel } from "./campaign-model.ts";
import { operate } from "./campaign-operator.ts";
import { compareAll } from "./campaign-rest.ts";
import { type JournalRecords, judge, recordsOf } from "./campaign-verdict.ts";

const LIVES = 2;
const ROUNDS = 2;
const ROUND_MS = 13_000;
/** Targets that the operator acts on in a life, beside clusters and group: few, so that one thing meets the other. */
const FOCUS = 7;

export type Campaign = {
  procman: KillableProcman;
  readonly places: CampaignPlaces;
  readonly client: SoakClient;
  readonly account: SoakAccount;
  readonly env: NodeJS.ProcessEnv;
  /** Commands of this version and of a second build of it. */
  readonly versions: readonly string[];
  model: CampaignModel;
  variant: Variant;
  focus: readonly string[];
  /** By the wall clock. */
  readonly start: string;
  /** Of this life. */
  began: string;
  consoleFile: string;
  kills: Kill[];
  slowTimes: { readonly from: number; readonly to: number }[];
  incidents: readonly Incident[];
  /** What was written to the env file. */
  values: { readonly at: number; readonly value: string }[];
  readonly typed: TypedLines;
  /** What was recorded when an end was cut off: later runs may be numbered from 1 again. */
  cut: ({ readonly at: number; readonly time: string } & JournalRecords) | undefined;
  /** Another program starts a killed procman: `CampaignOptions`. */
  readonly isGuarded: boolean;
  /** The runs of what sleeps that have served a client: their answers. */
  readonly woken: Set<string>;
  /** When the socket of `share` was opened. */
  socketSince: number;
  /** What operator and killer have done, with times: for the one who reads a finding. */
  readonly notes: string[];
  readonly note: (deed: string) => void;
};

export type CampaignOptions = {
  readonly folder: string;
  readonly seed: number;
  readonly receivers: Receivers;
  /** Makes the procman of a life. */
  readonly make: (options: ConstructorParameters<typeof KillableProcman>[0]) => KillableProcman;
  /** Another program, as systemd, starts a killed procman. */
  readonly isGuarded: boolean;
};

export async function runCampaign(options: CampaignOptions): Promise<Campaign> {
  const { folder, seed } = options;
  const campaign = await prepared(options);
  for (let life = 0; life < LIVES; life += 1) {
    const random = new SeededRandom(seed * 101 + life);
    campaign.procman = newLife(campaign, options, life);
    campaign.procman.start();
    if ((await campaign.procman.answered(60_000)) === undefined) throw new Error(`procman does not start in ${folder}`);
    campaign.focus = focusOf(campaign.model, random);
    const killer = new CampaignKiller(campaign, new SeededRandom(seed * 101 + life + 50));
    await compareAll(campaign);
    for (let round = 0; round < ROUNDS; round += 1) {
      await playRound(campaign, killer, random);
      await killer.rest();
      await compareAll(campaign);
    }
    if (random.next() < 0.5) await cutOffEnd(campaign, random);
    await judge(campaign);
  }
  return campaign;
}

async function prepared({ folder, receivers, isGuarded }: CampaignOptions): Promise<Campaign> {
  const ports = {
    web: await freePort(),
    webStart: await freeRange(MOST_INSTANCES),
    share: await freePort(),
    ready: await freePort(),
    sleeper: await freePort(),
  };
  const library = join(folder, "slow-disk.so");
  const source = fileURLToPath(new URL("slow-disk.c", import.meta.url));
  execFileSync("gcc", ["-shared", "-fPIC", "-o", library, source, "-ldl"]);
  const { version: number } = JSON.parse(readFileSync(join(PACKAGE, "package.json"), "utf8")) as {
    readonly version: string;
  };
  const stateDir = join(folder, ".procman/load");
  const notes: string[] = [];
  return {
    note: (deed) => notes.push(`${new Date().toISOString()} ${deed.trimEnd()}`),
    start: new Date().toISOString(),
    procman: undefined as unknown as KillableProcman,
    isGuarded,
    places: { folder, ports, receivers },
    client: new SoakClient(stateDir, "load"),
    account: new SoakAccount(),
    env: { LD_PRELOAD: library, SLOW_DISK: join(folder, "slow-disk"), CAMPAIGN_SECRET: "from a variable" },
    versions: [BIN, version(folder, number).bin],
    model: new CampaignModel(),
    variant: FIRST_VARIANT,
    ...{
      began: "",
      consoleFile: "",
      focus: [],
      kills: [],
      slowTimes: [],
      incidents: [],
      values: [],
      typed: new TypedLines(),
      woken: new Set<string>(),
      cut: undefined,
      socketSince: monotonicMs(),
      notes,
    },
  };
}

/** With empty logs and an empty diary: the runs of a new session are numbered from 1 again. */
function newLife(campaign: Campaign, { folder, make }: CampaignOptions, life: number): KillableProcman {
  for (const name of ["logs", "progress", "read", "diary.jsonl", "hooks"])
    if (existsSync(join(folder, name))) renameSync(join(folder, name), join(folder, `${name}-${life}`));
  for (const name of ["progress", "read", "logs"]) mkdirSync(join(folder, name));
  writeBeside(folder);
  campaign.typed.begin();
  const { places, env, variant } = campaign;
  if (life > 0) campaign.model.restarted(variant, false);
  const consoleFile = join(folder, `console-${life}.jsonl`);
  Object.assign(campaign, {
    began: new Date().toISOString(),
    consoleFile,
    kills: [],
    slowTimes: [],
    incidents: [],
    values: [{ at: 0, value: "0" }],
    cut: undefined,
    socketSince: monotonicMs(),
  });
  const output = openSync(consoleFile, "a");
  return make({
    folder,
    env,
    output,
    args: ["--profile", PROFILE],
    config: settings(places),
    processes: processesOf(places, variant),
  });
}

function focusOf(model: CampaignModel, random: SeededRandom): readonly string[] {
  const [single, many] = [
    model.targets.filter((id) => !/^(?:web|share|pool|group)/.test(id)),
    ["web", "web-1", "pool", "pool", "pool-2", "share", "group:tools"],
  ];
  return [...Array.from({ length: FOCUS }, () => random.of(single)), ...many];
}

/** Operator, killer and clients at the same time. */
async function playRound(campaign: Campaign, killer: CampaignKiller, random: SeededRandom): Promise<void> {
  const pauses = new SeededRandom(random.between(0, 1_000_000));
  const end = monotonicMs() + ROUND_MS;
  const repeat = async (deed: () => Promise<unknown>): Promise<void> => {
    while (monotonicMs() < end) await deed();
  };
  await Promise.all([
    repeat(() => operate(campaign, random)),
    repeat(() => killer.next()),
    ...(["web", "share"] as const).map((id) => repeat(() => visit(campaign, id))),
    repeat(() => wake(campaign, pauses)),
  ]);
}

/** procman is told to end, and all of it is killed meanwhile, or just after: the next `procman run` starts what should run. */
async function cutOffEnd(campaign: Campaign, random: SeededRandom): Promise<void> {
  const { procman, client, account, model, kills, variant } = campaign;
  const { keeper } = procman;
  await client.ask("POST", "/terminate");
  await sleep(random.between(0, 600));
  kills.push({ what: "everything", at: monotonicMs(), pids: procman.kill("everything") });
  campaign.cut = { at: monotonicMs(), time: new Date().toISOString(), ...recordsOf(procman) };
  account.count("ends that were cut off");
  campaign.note("the end was cut off");
  // A successor that a part has started before it was killed carries the end on, answers meanwhile, and refuses the one
  // that is started.
  for (let isUp = false; !isUp; isUp = (await procman.answered(5_000)) !== undefined && !(await isEnding(procman))) {
    await within(15_000, () => procman.keeper === undefined || procman.keeper === keeper);
    procman.start();
  }
  model.restarted(variant, true);
  campaign.socketSince = monotonicMs();
  await compareAll(campaign);
}

/** Whether it doesn't answer any more counts as well. */
async function isEnding({ api }: KillableProcman): Promise<boolean> {
  const answer = await api.ask("GET", "/state");
  return (answer?.body as StateRecord | undefined)?.status !== "running";
}
