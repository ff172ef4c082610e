/** Services of a compose file. Their programs run on the host. */
import { existsSync } from "node:fs";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";
import { readEnvFile } from "../../core/base/env-file.ts";
import { ownMember } from "../../core/base/interpolate.ts";
import { isObject } from "../../core/base/schema-check.ts";
import { statIfSeen } from "../../core/os/files.ts";
import { hostCommand } from "./compose-command.ts";
import { containerCommand } from "./compose-container.ts";
import { serviceHealth } from "./compose-health.ts";
import { resources, rotation, serviceCluster } from "./compose-resources.ts";
import type { ComposeProject, ComposeService } from "./compose-service.ts";
import { secondsIn } from "./compose-values.ts";
import { type ConfigurationDraft, idOf, type ProcessDraft } from "./configuration-draft.ts";
import { type Dockerfile, readDockerfile } from "./dockerfile.ts";
import { type AdviceTable, ForeignFields, scalarText } from "./foreign-fields.ts";
import { envValue } from "./foreign-text.ts";
import { dotenvIn, namesOf, setVariables, variablesOf, withVariables } from "./variable-lists.ts";

type ComposeServices = Readonly<Record<string, unknown>>;

/** Variables in these are read when the program starts; compose fills in all others when it reads the file. */
const READ_LATER = ["command", "entrypoint", "environment", "test"];
const OF_HOST = new Set(READ_LATER);
const OF_CONTAINER = new Set([...READ_LATER, "image", "ports", "volumes"]);
/** compose kills what hasn't ended then. Seconds. */
const STOP_TIMEOUT = 10;

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
  configuration.merge("logger", { console: true });
  const containers = Object.keys(services).filter((each) => needsContainer(extended(services, each), folder, readText));
  const project: ComposeProject = {
    name: projectName(name ?? basename(folder)),
    folder,
    configuration,
    readText,
    dotenv: dotenvIn(folder, readText),
    volumes: (containers.length > 0 ? top.object("volumes") : undefined) ?? {},
    awaited: healthyNeeded(services),
    hasNetwork: containers.length > 1,
  };
  if (containers.length > 0 && containers.length < Object.keys(services).length)
    configuration.note(
      "services",
      `names of services work between containers only (${containers.join(", ")}): programs of this host find a container at 127.0.0.1, by a port that it publishes, and a container finds them at host.docker.internal with --add-host host.docker.internal:host-gateway in its "cmd"`,
    );
  if (containers.length === Object.keys(services).length) top.skip("networks");
  top.rest(TOP_ADVICE, "compose");
  const drafts = Object.keys(services).map((each) => configuration.add(each, origin.shownAs));
  const ids = new Map(drafts.map((draft) => [draft.name, draft.id]));
  for (const draft of drafts) {
    const given = extended(services, draft.name);
    if (given === undefined) configuration.drop(draft, draft.name, "is not an object, so there is nothing to run");
    else importService(serviceOf(draft, given, project), ids);
  }
}

/** As compose makes it, for the names of volumes. */
function projectName(name: string): string {
  return name.toLowerCase().replace(/[^-_a-z0-9]|^[-_]+/g, "") || "default";
}

function importService(service: ComposeService, ids: ReadonlyMap<string, string>): void {
  const { draft, project, isContainer } = service;
  fillService(service, ids);
  const names = envFiles(service);
  const line = isContainer ? containerCommand(service, names) : hostCommand(service);
  service.fields.rest(isContainer ? CONTAINER_ADVICE : SERVICE_ADVICE, "compose");
  service.deploy.rest(DEPLOY_ADVICE, "compose");
  if (line === undefined)
    project.configuration.drop(
      draft,
      "command",
      'is missing, and no Dockerfile here says it: give the process a "cmd"',
    );
  else draft.set("cmd", line);
}

function serviceOf(
  draft: ProcessDraft,
  given: Readonly<Record<string, unknown>>,
  project: ComposeProject,
): ComposeService {
  const { folder, readText, dotenv = {} } = project;
  const note = (field: string, advice: string): unknown => draft.note(field, advice);
  const isContainer = needsContainer(given, folder, readText);
  const lookUp = (name: string): string | undefined => process.env[name] ?? ownMember(dotenv, name);
  const known = withVariables(given, { lookUp, kept: isContainer ? OF_CONTAINER : OF_HOST, note });
  const fields = new ForeignFields(known, note);
  const context = contextOf(known, folder);
  const inherited = namesOf(known.environment).length > Object.keys(variablesOf(known.environment, () => 0)).length;
  return {
    draft,
    fields,
    project,
    deploy: new ForeignFields(fields.object("deploy") ?? {}, note, "deploy."),
    context,
    dockerfile: dockerfileOf(known, context, readText),
    isContainer,
    hasVariables: inherited || /\$\{?[A-Za-z_]/.test(JSON.stringify(known).replaceAll("$$", "")),
  };
}

/** What it runs is in an image that isn't built here, or nothing here says it. */
function needsContainer(
  given: Readonly<Record<string, unknown>> | undefined,
  folder: string,
  readText: (file: string) => string,
): boolean {
  if (given === undefined || scalarText(given.image) === "") return false;
  const context = contextOf(given, folder);
  if (context === undefined) return true;
  const { command, entrypoint } = dockerfileOf(given, context, readText);
  return (command ?? entrypoint ?? given.command ?? given.entrypoint) === undefined;
}

function dockerfileOf(
  { build }: Readonly<Record<string, unknown>>,
  context: string | undefined,
  readText: (file: string) => string,
): Dockerfile {
  const { dockerfile, dockerfile_inline: inline, target } = isObject(build) ? build : {};
  const stage = scalarText(target) === "" ? undefined : scalarText(target);
  if (typeof inline === "string") return readDockerfile(inline, stage);
  const file = join(context ?? "", scalarText(dockerfile) || "Dockerfile");
  const isThere = context !== undefined && statIfSeen(file)?.isFile() === true;
  return readDockerfile(isThere ? readText(file) : "", stage);
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

function contextOf({ build }: Readonly<Record<string, unknown>>, folder: string): string | undefined {
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

function fillService(service: ComposeService, ids: ReadonlyMap<string, string>): void {
  const { draft, fields, dockerfile, isContainer } = service;
  startedBy(service);
  restartsBy(service);
  const signal = (fields.text("stop_signal") ?? (isContainer ? undefined : dockerfile.stopSignal))
    ?.toUpperCase()
    .replace(/^(?!SIG)/, "SIG");
  draft.set("stopSignal", signal === "SIGTERM" ? undefined : signal);
  draft.set("terminateTimeout", secondsIn(fields.any("stop_grace_period")) ?? STOP_TIMEOUT);
  serviceCluster(service);
  folderOf(service);
  if (!isContainer) onHost(service);
  dependsOn(service, ids);
  serviceHealth(service);
  watched(service);
  const options = fields.object("logging")?.options;
  if (isObject(options)) rotation(draft, options);
}

/** What its image has, its variables, limits and user. */
function onHost(service: ComposeService): void {
  const { draft, fields, dockerfile } = service;
  const { PATH: path, ...built } = dockerfile.variables;
  if (path !== undefined)
    draft.note(
      "Dockerfile",
      `PATH is that of this host; the Dockerfile has ${path}: "pathFirst" is for folders of this host`,
    );
  if (dockerfile.user !== undefined)
    draft.note(
      "Dockerfile",
      `has USER ${dockerfile.user}; here it runs as procman's user, or as that of the field "user"`,
    );
  if (Object.keys(built).length > 0)
    draft.set("env", Object.fromEntries(Object.entries(built).map(([name, value]) => [name, envValue([value])])));
  setVariables(draft, fields.any("environment"));
  if (fields.flag("stdin_open") === true) draft.set("stdin", true);
  resources(service);
}

/** A folder of the container is not a folder of the host: the programs run where the image is built. */
function folderOf({ draft, fields, project, context, isContainer }: ComposeService): void {
  const { configuration, folder } = project;
  const given = isContainer ? undefined : fields.text("working_dir");
  const isHere = given !== undefined && existsSync(resolve(folder, given));
  const place = configuration.path(
    isHere && (context === undefined || !isAbsolute(given))
      ? resolve(folder, given)
      : ((isContainer ? undefined : context) ?? folder),
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
function startedBy({ draft, fields, project: { configuration } }: ComposeService): void {
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

/** Sets `envFile`. Returns the names of the variables in these files, as far as they are there. */
function envFiles(service: ComposeService): readonly string[] {
  const { draft, fields, hasVariables, isContainer, project } = service;
  const { configuration, folder, readText, dotenv } = project;
  const given = [fields.any("env_file") ?? []].flat().flatMap((entry: unknown) => {
    const { path = entry, required } = isObject(entry) ? entry : {};
    return typeof path === "string" ? [{ path, isOptional: required === false }] : [];
  });
  const names = given.flatMap(({ path }) => {
    const file = resolve(folder, path);
    if (statIfSeen(file)?.isFile() === true) return Object.keys(readEnvFile(readText(file)).variables);
    if (isContainer) draft.note("env_file", `${path} isn't here: "cmd" needs -e NAME for each of its variables`);
    return [];
  });
  const hasDotenv =
    dotenv !== undefined && hasVariables && !given.some(({ path }) => resolve(folder, path) === join(folder, ".env"));
  if (hasDotenv && !isContainer) leaked(draft, Object.keys(dotenv));
  const files = [
    ...(hasDotenv ? [{ path: configuration.path(folder, ".env"), optional: true }] : []),
    ...given.map(({ path, isOptional }) => {
      const place = configuration.path(folder, path);
      return isOptional ? { path: place, optional: true } : place;
    }),
  ];
  if (files.length > 0) draft.set("envFile", files.length === 1 ? files[0] : files);
  return names;
}

/** compose reads `.env` for the variables of its file alone. */
function leaked(draft: ProcessDraft, names: readonly string[]): void {
  const own = isObject(draft.fields.env) ? draft.fields.env : {};
  const others = names.filter((name) => !Object.hasOwn(own, name));
  if (others.length > 0)
    draft.note(
      ".env",
      `is read for the variables of the file, and here the program gets all of it, too: ${others.join(", ")}`,
    );
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

function watched({ draft, fields, project: { configuration, folder } }: ComposeService): void {
  const develop = fields.object("develop");
  const rules: readonly unknown[] = Array.isArray(develop?.watch) ? develop.watch : [];
  const paths = rules.flatMap((rule) =>
    isObject(rule) && typeof rule.path === "string" ? [configuration.path(folder, rule.path)] : [],
  );
  if (paths.length > 0) draft.note("develop.watch", `on a developer's machine: "watch": ${JSON.stringify(paths)}`);
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

/** The same of a service that stays in a container. */
const CONTAINER_ADVICE: AdviceTable = {
  ...Object.fromEntries(
    Object.entries(SERVICE_ADVICE).map(([name, advice]) => [
      name,
      ["", SECRET, HOOK].includes(advice) ? advice : 'isn\'t carried: add the option of `docker run` to "cmd"',
    ]),
  ),
  container_name: "is the name of the project and the id here, because a name can't be used twice on a machine",
};

const DEPLOY_ADVICE: AdviceTable = {
  labels: "",
  mode: "",
  placement: "all processes run on this host",
  endpoint_mode: "",
  update_config: "`procman restart` restarts a cluster one instance after another: docs/guide/clusters.md",
  rollback_config: "a reload that fails goes back by itself: docs/guide/reload.md",
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
