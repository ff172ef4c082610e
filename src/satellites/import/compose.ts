/** Services of a compose file. Their programs run on the host. */
import { existsSync } from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { ownMember } from "../../core/base/interpolate.ts";
import { isObject } from "../../core/base/schema-check.ts";
import { shellQuote } from "../../core/base/shell-quote.ts";
import { serviceCommand } from "./compose-command.ts";
import { resources, serviceCluster } from "./compose-resources.ts";
import type { ComposeService } from "./compose-service.ts";
import { secondsIn } from "./compose-values.ts";
import { type ConfigurationDraft, idOf } from "./configuration-draft.ts";
import { type AdviceTable, ForeignFields, scalarText } from "./foreign-fields.ts";
import { envValue, interpolated } from "./foreign-text.ts";
import { variablesOf } from "./variable-lists.ts";

type ComposeServices = Readonly<Record<string, unknown>>;

/** `readText`: reads a file beside it. */
export function importCompose(
  data: Readonly<Record<string, unknown>>,
  origin: { readonly file: string; readonly shownAs: string },
  configuration: ConfigurationDraft,
  readText: (file: string) => string,
): void {
  const folder = dirname(origin.file);
  const top = new ForeignFields(data, (field, advice) => configuration.note(field, advice));
  const services = top.object("services") ?? {};
  const name = top.text("name");
  if (name !== undefined) configuration.fields.name ??= idOf(name);
  top.rest(TOP_ADVICE, "compose");
  const dotenv = existsSync(join(folder, ".env"));
  if (dotenv) configuration.fields.envFile = { path: configuration.path(folder, ".env"), optional: true };
  const drafts = Object.keys(services).map((each) => configuration.add(each, origin.shownAs));
  const ids = new Map(drafts.map((draft) => [draft.name, draft.id]));
  const awaited = healthyNeeded(services);
  for (const draft of drafts) {
    const given = extended(services, draft.name);
    if (given === undefined) {
      configuration.drop(draft, draft.name, "is not an object, so there is nothing to run");
      continue;
    }
    const note = (field: string, advice: string): unknown => draft.note(field, advice);
    const fields = new ForeignFields(given, note);
    const deploy = new ForeignFields(fields.object("deploy") ?? {}, note, "deploy.");
    const context = contextOf(fields, folder);
    const service: ComposeService = { draft, fields, deploy, configuration, folder, context };
    const line = serviceCommand(service, readText);
    fillService(service, ids, awaited.has(draft.name));
    if (line === undefined)
      configuration.drop(draft, "command", 'is missing, and no Dockerfile here says it: give the process a "cmd"');
    else draft.set("cmd", line);
  }
}

/** The service with what it extends from another one of the file. */
function extended(services: ComposeServices, name: string, depth = 0): Readonly<Record<string, unknown>> | undefined {
  const given = services[name];
  if (!isObject(given)) return undefined;
  const { extends: base, ...own } = given;
  const from = isObject(base) ? (base.file === undefined ? base.service : undefined) : base;
  if (typeof from !== "string" || depth > 20) return given;
  const inherited = Object.hasOwn(services, from) ? extended(services, from, depth + 1) : undefined;
  if (inherited === undefined) return given;
  const merged: Record<string, unknown> = { ...inherited, ...own };
  for (const key of ["environment", "deploy", "healthcheck"])
    if (isObject(inherited[key]) && isObject(own[key])) merged[key] = { ...inherited[key], ...own[key] };
  return merged;
}

function contextOf(fields: ForeignFields, folder: string): string | undefined {
  const build = fields.any("build");
  const context = isObject(build) ? (build.context ?? ".") : build;
  return typeof context === "string" && !/^\w+:\/\//.test(context) ? resolve(folder, context) : undefined;
}

/** Services that others wait for until they are healthy. */
function healthyNeeded(services: ComposeServices): ReadonlySet<string> {
  const names = Object.values(services).flatMap((service) => {
    const given = isObject(service) ? service.depends_on : undefined;
    return isObject(given)
      ? Object.entries(given).flatMap(([name, settings]) =>
          isObject(settings) && settings.condition === "service_healthy" ? [name] : [],
        )
      : [];
  });
  return new Set(names);
}

function fillService(service: ComposeService, ids: ReadonlyMap<string, string>, isAwaited: boolean): void {
  const { draft, fields, deploy } = service;
  folderOf(service);
  startedBy(service);
  restartsBy(service);
  const signal = fields
    .text("stop_signal")
    ?.toUpperCase()
    .replace(/^(?!SIG)/, "SIG");
  draft.set("stopSignal", signal === "SIGTERM" ? undefined : signal);
  draft.set("terminateTimeout", secondsIn(fields.any("stop_grace_period")));
  const env = variablesOf(fields.any("environment"), (field, advice) => draft.note(field, advice));
  if (Object.keys(env).length > 0) draft.set("env", env);
  envFiles(service);
  dependsOn(service, ids);
  serviceHealth(service, isAwaited);
  serviceCluster(service);
  resources(service);
  watched(service);
  fields.rest(SERVICE_ADVICE, "compose");
  deploy.rest(
    {
      labels: "",
      mode: "",
      placement: "all processes run on this host",
      endpoint_mode: "",
      update_config: "`procman restart` restarts a cluster one instance after another: docs/guide/clusters.md",
      rollback_config: "a reload that fails goes back by itself: docs/guide/reload.md",
    },
    "compose",
  );
}

/** A folder of the container is not a folder of the host: the programs run where the image is built. */
function folderOf({ draft, fields, configuration, folder, context }: ComposeService): void {
  const given = fields.text("working_dir");
  const isHere = given !== undefined && existsSync(resolve(folder, given));
  const place = configuration.path(
    isHere && (context === undefined || !isAbsolute(given)) ? resolve(folder, given) : (context ?? folder),
    ".",
  );
  if (place !== ".") draft.set("cwd", place);
  if (given !== undefined && !isHere)
    draft.note(
      "working_dir",
      `${given} is a folder of the image; here it runs in ${place === "." ? "the folder of this file" : place}`,
    );
}

/** A service of profiles starts only with one of them. */
function startedBy({ draft, fields, configuration }: ComposeService): void {
  const profiles = fields.texts("profiles") ?? [];
  if (profiles.length === 0) draft.set("autostart", true);
  for (const profile of profiles) configuration.addToProfile(idOf(profile), draft, { autostart: true });
}

const RESTARTS: Readonly<Record<string, string>> = {
  always: "always",
  "unless-stopped": "always",
  "on-failure": "error",
  no: "never",
  false: "never",
  any: "always",
  none: "never",
};

function restartsBy({ draft, fields, deploy }: ComposeService): void {
  const policy = deploy.object("restart_policy");
  const given = scalarText(policy?.condition ?? fields.any("restart") ?? (policy === undefined ? "no" : "any"));
  const [, name = given, limit] = /^(on-failure):(\d+)$/.exec(given) ?? [];
  fields.skip("restart");
  draft.set("restart", ownMember(RESTARTS, name) ?? "never");
  if (ownMember(RESTARTS, name) === undefined)
    draft.note("restart", `is ${JSON.stringify(given)}; it is taken for "no"`);
  if (limit !== undefined) draft.set("restartLimit", Number(limit));
  if (policy === undefined) return;
  const own = new ForeignFields(policy, (field, advice) => draft.note(field, advice), "deploy.restart_policy.");
  own.skip("condition");
  draft.set("restartLimit", own.number("max_attempts"));
  const delay = secondsIn(own.any("delay"));
  const window = secondsIn(own.any("window"));
  draft
    .set("restartDelayMs", delay === undefined ? undefined : delay * 1_000)
    .set("restartResetMs", window === undefined ? undefined : window * 1_000);
  own.rest({}, "compose");
}

function envFiles({ draft, fields, configuration, folder }: ComposeService): void {
  const files = [fields.any("env_file") ?? []].flat().flatMap((entry: unknown) => {
    const path = isObject(entry) ? entry.path : entry;
    if (typeof path !== "string") return [];
    const place = configuration.path(folder, envValue(interpolated(path, () => undefined)));
    return [isObject(entry) && entry.required === false ? { path: place, optional: true } : place];
  });
  if (files.length > 0) draft.set("envFile", files.length === 1 ? files[0] : files);
}

const CONDITIONS: Readonly<Record<string, string>> = {
  service_started: "started",
  service_healthy: "ready",
  service_completed_successfully: "finished",
};

function dependsOn({ draft, fields }: ComposeService, ids: ReadonlyMap<string, string>): void {
  const given = fields.any("depends_on");
  const entries: readonly (readonly [string, unknown])[] = isObject(given)
    ? Object.entries(given)
    : [given ?? []].flat().map((name) => [scalarText(name), {}] as const);
  const list = entries.flatMap(([name, settings]) => {
    const id = ids.get(name);
    const { condition = "service_started", restart } = isObject(settings) ? settings : {};
    const state = ownMember(CONDITIONS, scalarText(condition));
    if (id === undefined || state === undefined)
      draft.note(
        `depends_on.${name}`,
        id === undefined
          ? "there is no such service in the file"
          : `has the unknown condition ${scalarText(condition)}`,
      );
    return id === undefined || state === undefined
      ? []
      : [{ id, condition: state, ...(restart === true && { restart }) }];
  });
  if (list.length > 0) draft.set("dependsOn", list);
}

function watched({ draft, fields, configuration, folder }: ComposeService): void {
  const develop = fields.object("develop");
  const rules: readonly unknown[] = Array.isArray(develop?.watch) ? develop.watch : [];
  const paths = rules.flatMap((rule) =>
    isObject(rule) && typeof rule.path === "string" ? [configuration.path(folder, rule.path)] : [],
  );
  if (paths.length > 0) draft.note("develop.watch", `on a developer's machine: "watch": ${JSON.stringify(paths)}`);
}

/** Docker's defaults. Seconds. */
const INTERVAL = 30;
const RETRIES = 3;

/** `healthcheck`. `isAwaited`: others wait until it is healthy. */
function serviceHealth({ draft, fields }: ComposeService, isAwaited: boolean): void {
  const given = fields.object("healthcheck");
  if (given === undefined) {
    if (isAwaited)
      draft.note(
        "healthcheck",
        'others wait until it is healthy, but the check is in the image: say by "ready" when it is up, docs/guide/supervision.md',
      );
    return;
  }
  const own = new ForeignFields(given, (field, advice) => draft.note(field, advice), "healthcheck.");
  const exec = testOf(own.any("test"));
  const [interval, timeout, start] = ["interval", "timeout", "start_period"].map((name) => secondsIn(own.any(name)));
  const retries = own.number("retries");
  if (own.flag("disable") === true || exec === undefined) return;
  if (isAwaited)
    draft.set("ready", { exec, timeout: Math.max(1, (start ?? 0) + (interval ?? INTERVAL) * (retries ?? RETRIES)) });
  draft.set("health", {
    exec,
    interval: interval ?? INTERVAL,
    timeout: timeout ?? INTERVAL,
    failures: retries ?? RETRIES,
    ...(start !== undefined && { startPeriod: start }),
  });
  own.rest({ start_interval: "" }, "compose");
}

function testOf(given: unknown): string | undefined {
  if (typeof given === "string") return given.replaceAll("$$", "$");
  if (!Array.isArray(given)) return undefined;
  const [kind, ...words] = given.map((word) => scalarText(word).replaceAll("$$", "$"));
  if (kind === "CMD-SHELL") return words.join(" ");
  return kind === "CMD" ? words.map(shellQuote).join(" ") : undefined;
}

const CONTAINER = "is a setting of the container: the program runs on this host";
const NETWORK = "all programs see the network of this host: services reach each other at 127.0.0.1";
const FILES = "all programs see the files of this host: check the paths in the program's settings";
const SECRET =
  '"env": { "NAME": { "file": "/run/secrets/name" } } gives a program the content of a file: docs/guide/environment.md';
const SANDBOX = "procman has no sandbox; under systemd its unit can have one for all processes";
const HOOK = 'commands before a start and after an end are "hooks": docs/guide/processes.md';

const same = (advice: string, names: string): AdviceTable =>
  Object.fromEntries(names.split(" ").map((name) => [name, advice]));

/** What to do about fields of a service without an equal. */
const SERVICE_ADVICE: AdviceTable = {
  ...same(
    CONTAINER,
    "container_name hostname domainname init tty stdin_open platform isolation runtime pid ipc shm_size sysctls devices device_cgroup_rules cgroup cgroup_parent userns_mode gpus",
  ),
  ...same(NETWORK, "networks network_mode links external_links expose dns dns_opt dns_search extra_hosts mac_address"),
  ...same(FILES, "volumes volumes_from tmpfs"),
  ...same(SECRET, "secrets configs credential_spec"),
  ...same(SANDBOX, "privileged cap_add cap_drop security_opt read_only group_add"),
  ...same(HOOK, "post_start pre_stop"),
  ...same("", "labels annotations attach pull_policy restart image ports platform build"),
  ...same(
    'limits are "memoryMax", "cpuQuota" and "ulimits": docs/guide/environment.md',
    "mem_reservation memswap_limit mem_swappiness cpu_shares cpu_quota cpu_period cpu_count cpu_percent cpuset pids_limit blkio_config oom_kill_disable",
  ),
  extends: "is a service of another file: write its fields here",
};

/** What to do about fields of the top level without an equal. */
const TOP_ADVICE: AdviceTable = {
  version: "",
  networks: NETWORK,
  volumes: FILES,
  secrets: SECRET,
  configs: SECRET,
  include: "import these files, too: `procman import` takes several",
};
