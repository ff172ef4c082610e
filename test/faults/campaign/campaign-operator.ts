/** The operator of a campaign: one thing after the other, by commands and by the API, and what came of it goes into the model. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Action } from "../../../src/core/contract/control.ts";
import { monotonicMs } from "../../programs/run-diary.mjs";
import { cleanEnvironment } from "../../support/procman-process.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import { writeWhole } from "../../support/whole-file.ts";
import type { Campaign } from "./campaign.ts";
import { TYPED } from "./campaign-input.ts";
import { CLUSTERS, type ClusterId, MOST_INSTANCES, PROFILE, SIZED, STEADY, writeVariant } from "./campaign-load.ts";
import type { Outcome } from "./campaign-model.ts";

/** A command waits no longer; what it has asked for continues. Seconds. */
const WAIT_SECONDS = 15;
const COMMAND_MS = 60_000;
/** The stored lines of a life. */
const OUTPUT_BYTES = 512e6;
const PAUSE_MS = 250;
const WEIGHTS = {
  act: 40,
  scale: 7,
  size: 5,
  reload: 6,
  profile: 4,
  signal: 4,
  flush: 2,
  upgrade: 4,
  token: 2,
  watched: 4,
  envFile: 3,
  query: 6,
  input: 8,
};
const ACTIONS = { start: 5, stop: 3, restart: 4, block: 2, unblock: 3, disable: 1, enable: 2 } as const;
/** The socket is with its instances alone after a kill of all, so none of them may be kept from the restart that opens it again. */
const SOCKET_ACTIONS = { start: 4, stop: 2, restart: 4 } as const;
const QUERIES = [
  ["status"],
  ["status", "--json"],
  ["logs", "plain", "-n", "20"],
  ["why", "crash-slow"],
  ["list"],
  ["ports"],
  ["next"],
  ["plan"],
] as const;
/** Refused for a reason that changes nothing. */
const REFUSED =
  /Cannot \w+ "[^"]+": (?:it is (?:already running|blocked|not running)|a rolling restart|another reload)/;
/** As if the operator had waited for it, though its answer was that it can't be reached any more, or not in time. */
const UNDECIDED = /"code":"(?:process-failed|wait-timeout|roll-failed|reload-failed)"/;

/** The next thing that it does follows from the seed. */
export async function operate(campaign: Campaign, random: SeededRandom): Promise<void> {
  await sleep(random.between(0, PAUSE_MS));
  const kind = random.weighted(WEIGHTS);
  campaign.account.count(`operation: ${kind}`);
  await OPERATIONS[kind](campaign, random);
}

const OPERATIONS: Readonly<Record<keyof typeof WEIGHTS, (campaign: Campaign, random: SeededRandom) => Promise<void>>> =
  {
    act: async (campaign, random) => {
      const id = random.of(campaign.focus);
      const action = random.weighted<Action>((/^share/.test(id) ? SOCKET_ACTIONS : ACTIONS) as Record<Action, number>);
      await tell(campaign, random, { path: `/processes/${id}/${action}`, args: [action, id] }, (outcome) =>
        campaign.model.acted(id, action, outcome),
      );
    },
    scale: async (campaign, random) => {
      const id = random.of(Object.keys(CLUSTERS) as ClusterId[]);
      const instances = Math.floor(random.between(1, MOST_INSTANCES + 1));
      const order = { path: `/processes/${id}/scale`, args: ["scale", id, String(instances)], body: { instances } };
      await tell(campaign, random, order, (outcome) => campaign.model.scaled(id, instances, outcome));
    },
    size: async (campaign, random) => {
      const instances = random.of([1, 2, 4, "auto", "auto"] as const);
      const order = { path: `/processes/${SIZED}/scale`, args: ["scale", SIZED, `${instances}`], body: { instances } };
      await tell(campaign, random, order, (outcome) => campaign.model.size.scaled(instances, outcome));
    },
    reload: async (campaign, random) => {
      const count = (): number => Math.floor(random.between(1, MOST_INSTANCES + 1));
      const isTextNew = random.next() < 0.5;
      const text = isTextNew ? String(campaign.notes.length) : campaign.variant.text;
      campaign.variant = { text, counts: { ...CLUSTERS, web: count(), pool: count() } };
      campaign.model.wrote(campaign.variant, isTextNew);
      writeVariant(campaign.places, campaign.variant);
      await reload(campaign, random);
    },
    profile: (campaign, random) => reload(campaign, random, random.of([PROFILE, ""])),
    signal: async (campaign, random) => {
      const [id, signal] = [random.of(STEADY), random.of(["KILL", "USR2", "WINCH"] as const)];
      // A command may be carried out without an answer.
      if (signal !== "WINCH") campaign.model.ended(id);
      await tell(campaign, random, { path: `/processes/${id}/signal`, args: ["signal", signal, id], body: { signal } });
      if (signal !== "WINCH") campaign.model.ended(id);
    },
    flush: (campaign, random) =>
      tell(campaign, random, { path: "/logs/flush?process=timeout", args: ["flush", "timeout", "--yes"] }),
    upgrade: async (campaign, random) => {
      const end = campaign.account.begin("upgrade");
      const bin = random.of(campaign.versions);
      const { code, output } = await command(campaign, ["upgrade"], bin);
      end();
      campaign.account.count(code === 0 ? "upgraded" : `not upgraded: ${output.slice(0, 60)}`);
    },
    token: (campaign, random) =>
      query(campaign, ["token", "--consumer", "campaign", ...random.of([[], ["--scope", "read"]])]),
    watched: async (campaign) => {
      // It is started, whether it was stopped or not, unless it is blocked or disabled.
      campaign.model.doubt("watched");
      writeWhole(join(campaign.places.folder, "watched.txt"), String(monotonicMs()));
    },
    envFile: async (campaign) => {
      const value = String(campaign.values.length);
      campaign.values.push({ at: monotonicMs(), value });
      writeWhole(join(campaign.places.folder, "values.env"), `FROM_FILE=${value}\n`);
    },
    query: (campaign, random) => query(campaign, random.of(QUERIES)),
    input: type,
  };

/** Several lines by the API, or one by the command. */
async function type(campaign: Campaign, random: SeededRandom): Promise<void> {
  const lines = campaign.typed.next(random);
  const isCommand = lines.length === 1 || random.next() < 0.2;
  const sent = isCommand ? lines.slice(0, 1) : lines;
  const from = monotonicMs();
  const { taken, answer } = isCommand ? await sendLine(campaign, sent[0] ?? "") : await postLines(campaign, sent);
  campaign.typed.sent(sent, from, taken);
  campaign.account.count("typed lines", taken === undefined ? 0 : sent.length);
  campaign.note(`typed from ${sent[0]?.split(" ")[0]} on, ${sent.length}: ${answer.slice(0, 160)}`);
}

type Typed = { readonly taken: number | undefined; readonly answer: string };

async function sendLine(campaign: Campaign, line: string): Promise<Typed> {
  const { code, output } = await command(campaign, ["send", TYPED, line]);
  const taken = code === 0 ? line.length + 1 : /Cannot send to/.test(output) ? 0 : undefined;
  return { taken, answer: `${code} ${output}` };
}

async function postLines({ client }: Campaign, lines: readonly string[]): Promise<Typed> {
  const text = lines.map((line) => `${line}\n`).join("");
  const { status, text: reply } = await client.ask("POST", `/processes/${TYPED}/input`, { body: { text } });
  const taken = status === 200 ? text.length : status === 409 ? (JSON.parse(reply).taken ?? 0) : undefined;
  return { taken, answer: `${status} ${reply}` };
}

async function reload(campaign: Campaign, random: SeededRandom, profile?: string): Promise<void> {
  const args =
    profile === undefined ? ["reload"] : profile === "" ? ["reload", "--no-profile"] : ["reload", "--profile", profile];
  const path = profile === undefined ? "/reload" : `/reload?profile=${profile}`;
  const { variant } = campaign;
  await tell(campaign, random, { path, args }, (outcome) => campaign.model.reloaded(variant, outcome, profile));
}

type Order = { readonly path: string; readonly args: readonly string[]; readonly body?: object };

/** By the command or by the API, with or without waiting for it. */
async function tell(
  campaign: Campaign,
  random: SeededRandom,
  order: Order,
  learn: (outcome: Outcome) => void = () => undefined,
): Promise<void> {
  const way = random.weighted({ command: 2, "command at once": 2, API: 3, "API at once": 4 });
  const from = monotonicMs();
  const end = /web|share|reload/.test(order.args.join(" ")) ? campaign.account.begin("web") : undefined;
  const { outcome, answer } = way.startsWith("API")
    ? await ask(campaign, order, way === "API")
    : await commanded(campaign, order, way === "command");
  end?.();
  campaign.account.count(outcome);
  campaign.note(
    `${order.args.join(" ")} (${way}, after ${Math.round(monotonicMs() - from)} ms): ${outcome} ${answer.slice(0, 160)}`,
  );
  // `pool-3` may be on its way out.
  if (/process-leaving|being removed/.test(answer) && !/-\d|profiled|group/.test(order.args.join(" ")))
    campaign.account.find("refusal", `${order.args.join(" ")}: ${answer.slice(0, 300)}`);
  if (
    outcome === "unknown" &&
    !UNDECIDED.test(answer) &&
    way.startsWith("API") &&
    campaign.account.isCalm(from, ["kill", "upgrade", "start"])
  )
    campaign.account.find("answer", `${order.args.join(" ")} (${way}): ${answer.slice(0, 300)}`);
  learn(outcome);
}

async function ask(
  { client }: Campaign,
  { path, body }: Order,
  isWaiting: boolean,
): Promise<{ readonly outcome: Outcome; readonly answer: string }> {
  const wait = isWaiting && !/signal|flush/.test(path) ? `${path.includes("?") ? "&" : "?"}wait=${WAIT_SECONDS}` : "";
  const { status, text } = await client.ask("POST", path + wait, body === undefined ? {} : { body });
  const answer = `${status} ${text}`;
  if (status === 200) return { outcome: "done", answer };
  return { outcome: [404, 409].includes(status) && !UNDECIDED.test(text) ? "refused" : "unknown", answer };
}

async function commanded(
  campaign: Campaign,
  { args }: Order,
  isWaiting: boolean,
): Promise<{ readonly outcome: Outcome; readonly answer: string }> {
  const canWait = !/signal|flush/.test(args[0] ?? "");
  const { code, output } = await command(campaign, [
    ...args,
    ...(canWait ? (isWaiting ? ["--timeout", String(WAIT_SECONDS)] : ["--no-wait"]) : []),
  ]);
  return { outcome: code === 0 ? "done" : REFUSED.test(output) ? "refused" : "unknown", answer: `${code} ${output}` };
}

async function query(campaign: Campaign, args: readonly string[]): Promise<void> {
  const from = monotonicMs();
  const { code, output } = await command(campaign, args);
  // `status` ends with 3 while a process is down.
  if (![0, 3].includes(code) && campaign.account.isCalm(from, ["kill", "upgrade", "start"]))
    campaign.account.find("command", `procman ${args.join(" ")} ended with ${code}: ${output.slice(0, 300)}`);
}

export function command({ places, env, versions }: Campaign, args: readonly string[], bin = versions[0] as string) {
  return new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
    const options = { cwd: places.folder, env: cleanEnvironment(env), timeout: COMMAND_MS, maxBuffer: OUTPUT_BYTES };
    execFile(process.execPath, [bin, ...args], options, (error, output, errors) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: output + errors }),
    );
  });
}
