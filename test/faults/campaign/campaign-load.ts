/** The configuration of the campaign: a process of every kind, clusters, groups, a profile, plugins. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { program } from "../../support/fault-rig.ts";
import { writeWhole } from "../../support/whole-file.ts";
import { TYPED } from "./campaign-input.ts";

const SUBJECT = fileURLToPath(new URL("subject.mjs", import.meta.url));

/** Stay up unless an operator stops them: what was acknowledged is compared with them. Those with `by hand` start only by request. */
export const STEADY = [
  ...["plain", "rotated", "errors", "shared-a", "shared-b", "variables", "ready-fd", "ready-log", "ready-port"],
  ...["needs-port", "after-setup", "follower", "hooked", "watched", "stubborn", "worker", "terminal", TYPED],
] as const;
export const BY_HAND = "by-hand";
/** With their numbers of instances in the first file. `share` has one socket; the file never changes it. */
export const CLUSTERS = { web: 3, share: 2, pool: 2 } as const;
export type ClusterId = keyof typeof CLUSTERS;
export const MOST_INSTANCES = 4;
/** A cluster whose size alternates between these by its schedules, unless an operator pins it. */
export const SIZED = "sized";
export const SIZES: readonly number[] = [1, 3];
/** Its members; of a cluster all instances. */
export const GROUP = {
  id: "group:tools",
  members: ["shared-a", "shared-b", "hooked", "stubborn", "pool"] as readonly string[],
};
export const PROFILE = "campaign";
/** Only the profile has it. */
export const PROFILED = "profiled";
/** End with a code that follows from their pid, and are restarted by their policy alone. */
export const CRASHERS = ["crash-quick", "crash-slow", "crash-family"] as const;
/** `procman/logship` sends its lines. */
export const SHIPPED = "crash-quick";
/** Started by its schedule each second, and by nothing else. */
export const JOB = "job";
/** Sleeps without clients, which it gets now and then; the operator leaves it alone. */
export const SLEEPER = "sleeper";
/** What it needs, and how: it runs only while that does. */
export const NEEDS: Readonly<Record<string, readonly string[]>> = {
  "needs-port": ["ready-port"],
  follower: ["ready-log"],
};
/** Is restarted after the other was. */
export const FOLLOWERS: Readonly<Record<string, string>> = { "ready-log": "follower" };
/** Their configuration has the text of the variant, so that a reload which changes it restarts them. */
export const TEXTED = ["variables", "needs-port", "pool", "web"] as const;
/** By file: the processes whose lines are in it. */
export const LINES: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    [...STEADY, BY_HAND, ...CRASHERS, JOB, SLEEPER].filter((id) => !/^shared-/.test(id)).map((id) => [id, [id]]),
  ),
  shared: ["shared-a", "shared-b"],
};
/** Their lines are compared in the log store, too. */
export const STORED = ["plain", "errors", "shared-a"] as const;

/** What a reload changes. */
export type Variant = { readonly text: string; readonly counts: Readonly<Record<ClusterId, number>> };
export const FIRST_VARIANT: Variant = { text: "0", counts: CLUSTERS };

export type CampaignPorts = {
  readonly web: number;
  readonly webStart: number;
  readonly share: number;
  readonly ready: number;
  readonly sleeper: number;
};
export type Receivers = { readonly otlp: string; readonly syslog: number; readonly webhook: string };
export type CampaignPlaces = { readonly folder: string; readonly ports: CampaignPorts; readonly receivers: Receivers };

const always = { autostart: true, restart: "always", restartDelayMs: 50 };

/** At once and whole: a service may start at any moment. */
export function writeVariant(places: CampaignPlaces, variant: Variant): void {
  const config = { name: "load", ...settings(places), processes: processesOf(places, variant) };
  writeWhole(join(places.folder, "procman.json"), JSON.stringify(config, undefined, 2));
}

/** What the file has beside its processes. */
export function settings({ folder, receivers: { otlp, syslog, webhook } }: CampaignPlaces): object {
  return {
    logger: { format: "json", internalLogSize: "2GB" },
    watcher: { interval: 100 },
    terminateTimeout: 10,
    profiles: { [PROFILE]: { processes: [{ id: PROFILED, ...subject(folder, PROFILED), ...always }] } },
    plugins: [
      { url: "procman/otlp", options: { endpoint: otlp, intervalSeconds: 2, processes: ["crash-slow"] } },
      { url: "procman/logship", options: { to: `tcp://127.0.0.1:${syslog}`, processes: [SHIPPED] } },
      { url: "procman/notify", options: { webhook, groupSeconds: 1, processes: ["crash-slow"] } },
      { url: "./plugin.mjs", options: { file: join(folder, "plugin-events") } },
    ],
  };
}

/** What is beside the file. */
export function writeBeside(folder: string): void {
  writeWhole(join(folder, "values.env"), "FROM_FILE=0\n");
  writeWhole(join(folder, "watched.txt"), "0");
  writeFileSync(join(folder, "key"), "from a file\n", { mode: 0o600 });
  writeFileSync(
    join(folder, "plugin.mjs"),
    `import { appendFileSync } from "node:fs";
export default {
  name: "campaign", version: "1.0.0",
  setup({ events, options }) {
    events.on("process.incident", ({ incident: { process, run, time } }) =>
      appendFileSync(options.file, JSON.stringify({ process, run, time }) + "\\n"));
  },
};
`,
  );
}

function subject(
  folder: string,
  id: string,
  options = "",
  log = id,
): { readonly cmd: string; readonly logger: object } {
  return {
    cmd: `${process.execPath} ${SUBJECT} ${folder} ${id} ${options}`.trimEnd(),
    logger: { stdout: `logs/${log}.log` },
  };
}

export function processesOf({ folder, ports }: CampaignPlaces, { text, counts }: Variant): readonly object[] {
  const steady = (id: string, options = "lines=4", more: object = {}) => ({
    id,
    ...subject(folder, id, options),
    ...always,
    ...more,
  });
  const shared = (id: string) => ({
    ...steady(id, "lines=4", { groups: "tools" }),
    ...subject(folder, id, "lines=4", "shared"),
  });
  const crasher = (id: string, lives: string, more = "") => steady(id, `lines=2 pause=50 lives=${lives} ${more}`);
  return [
    { ...steady("plain"), cmd: program(folder, "printer", "plain", 65_536, 200) },
    steady("rotated", "lines=25 pause=100", {
      logger: { stdout: "logs/rotated.log", rotate: { size: "300kB", total: "1TB", gzip: true } },
    }),
    steady("errors", "lines=4 to=2", { logger: { stdout: "logs/none.log", stderr: "logs/errors.log", console: true } }),
    ...["shared-a", "shared-b"].map(shared),
    steady("variables", "lines=1", {
      env: { TEXT: text, SECRET: { env: "CAMPAIGN_SECRET" }, SECRET_FILE: { file: "key" } },
      envFile: "values.env",
    }),
    { ...steady(BY_HAND), autostart: false },
    steady("ready-fd", "lines=2 ready=fd", { ready: { fd: 3 } }),
    steady("ready-log", "lines=2 ready=log", { ready: { log: "^ready-log [^ ]+ 5 ", timeout: 120 } }),
    steady("ready-port", `lines=1 ready=${ports.ready}`, { ready: { port: ports.ready } }),
    steady("needs-port", "lines=1", { dependsOn: ["ready-port"], env: { TEXT: text } }),
    { id: "setup", cmd: "true", autostart: true, restart: "never" },
    steady("after-setup", "lines=1", { dependsOn: [{ id: "setup", condition: "finished" }] }),
    steady("follower", "lines=1", { dependsOn: [{ id: "ready-log", restart: true }] }),
    steady("hooked", "lines=1", {
      hooks: { beforeStart: "echo before >>hooks", afterStop: "echo after >>hooks" },
      groups: "tools",
    }),
    { ...steady("watched", "lines=1"), autostart: false, watch: ["watched.txt"] },
    steady("stubborn", "lines=4", { env: { STUBBORN: "1" }, terminateTimeout: 0.3, groups: "tools" }),
    // Lines end there as in a file.
    { ...steady("terminal"), cmd: `stty -onlcr && exec ${steady("terminal").cmd}`, tty: true },
    { ...steady("worker"), cmd: undefined, worker: [SUBJECT, folder, "worker", "lines=2"], terminateGracePeriod: 2 },
    steady(TYPED, "lines=1 reads=1", { stdin: true }),
    crasher("crash-quick", "50-300"),
    crasher("crash-slow", "1000-3000"),
    crasher("crash-family", "500-1500", "child=1"),
    { id: JOB, ...subject(folder, JOB, "lines=1 lives=10-300"), cron: "* * * * * *" },
    { id: "overrun", cmd: "sleep 2.5", cron: "* * * * * *", overrun: true },
    { id: "timeout", cmd: "sleep 1000", ...always, timeout: 0.7 },
    {
      id: "known",
      cmd: "sleep 1; exit 75",
      ...always,
      restart: "error",
      successExitCodes: [75],
      cron: "*/3 * * * * *",
    },
    { id: "limited", cmd: "exit 3", ...always, restartLimit: 2 },
    { id: "hungry", ...subject(folder, "hungry", "eat=120"), ...always, memoryLimit: "90MB" },
    { ...steady(SLEEPER, "lines=1 serve=1"), idle: { port: ports.sleeper, after: 1, wakeTimeout: 60 } },
    ...clustersOf(folder, ports, { text, counts }),
  ];
}

function clustersOf(folder: string, ports: CampaignPorts, { text, counts }: Variant): readonly object[] {
  const server = (id: ClusterId, cluster: object) => ({
    ...{ id, ...subject(folder, id, "serve=1"), ...always },
    cluster: { instances: counts[id], ...cluster },
  });
  return [
    {
      ...server("web", { startPort: ports.webStart, commonPort: ports.web }),
      ...{ env: { TEXT: text }, ready: { port: "{port}" }, health: { http: "http://127.0.0.1:{port}/", interval: 1 } },
    },
    server("share", { mode: "share", commonPort: ports.share }),
    {
      id: "pool",
      ...subject(folder, "pool"),
      ...always,
      env: { TEXT: text },
      groups: "tools",
      cluster: { instances: counts.pool },
    },
    {
      id: SIZED,
      ...subject(folder, SIZED),
      ...always,
      cluster: { instances: 2 },
      scale: {
        max: 3,
        schedules: SIZES.map((size, index) => ({ cron: `${index * 3}-59/6 * * * * *`, min: size, max: size })),
      },
    },
  ];
}
