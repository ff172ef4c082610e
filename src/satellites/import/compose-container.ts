/** A service whose program is in an image: it stays there, by `docker run`. */
import { isObject } from "../../core/base/schema-check.ts";
import { shellQuote } from "../../core/base/shell-quote.ts";
import { wordsOf } from "./compose-command.ts";
import type { ComposeService } from "./compose-service.ts";
import { scalarText } from "./foreign-fields.ts";
import { interpolated, shellWord } from "./foreign-text.ts";
import { namesOf, variablesOf } from "./variable-lists.ts";

const same = (names: string): Readonly<Record<string, string>> =>
  Object.fromEntries(names.split(" ").map((name) => [name, `--${name.replaceAll("_", "-")}`]));

/** Flags of `docker run` by the fields of a service: those with a value, those that may be repeated, those without a value. */
const VALUE_FLAGS = {
  ...same(
    "user hostname domainname platform runtime pid ipc shm_size cgroup_parent cpus cpu_shares cpu_period cpu_quota",
  ),
  ...same("pids_limit oom_score_adj mac_address"),
  working_dir: "--workdir",
  cpuset: "--cpuset-cpus",
  mem_limit: "--memory",
  mem_reservation: "--memory-reservation",
  memswap_limit: "--memory-swap",
  mem_swappiness: "--memory-swappiness",
  userns_mode: "--userns",
};
const LIST_FLAGS = {
  ...same("cap_add cap_drop security_opt group_add dns dns_search tmpfs expose"),
  devices: "--device",
  device_cgroup_rules: "--device-cgroup-rule",
  dns_opt: "--dns-option",
  extra_hosts: "--add-host",
  sysctls: "--sysctl",
};
const SWITCHES = same("privileged read_only init oom_kill_disable");

/** The signal by which images that say so want to be stopped. */
const STOP_SIGNALS: readonly (readonly [RegExp, string])[] = [
  [/^(.*\/)?(postgres|postgis|pgvector|timescaledb)(:|$)/, "SIGINT"],
  [/^(.*\/)?nginx(:|$)/, "SIGQUIT"],
  [/^(.*\/)?httpd(:|$)/, "SIGWINCH"],
  [/^(.*\/)?haproxy(:|$)/, "SIGUSR1"],
];

/** Name of its container, for a shell. */
export function containerName({ draft, project }: ComposeService): string {
  const number = draft.fields.cluster === undefined ? "" : "-$((PROCMAN_CLUSTER_INSTANCE + 1))";
  return `${project.name}-${draft.id}${number}`;
}

/** The command line, and hooks that remove a container which was left. `envNames`: of its env files. */
export function containerCommand(service: ComposeService, envNames: readonly string[]): string {
  const { draft, fields, project } = service;
  const image = fields.text("image") ?? "";
  const name = containerName(service);
  const entrypoint = wordsOf(service, "entrypoint");
  const [program = [""], ...args] = entrypoint ?? [];
  const network = networkFlags(service);
  const remove = `docker rm -f ${name} >/dev/null 2>&1 || true`;
  const hasNetwork = network.some((flag) => flag.startsWith("--network-alias"));
  draft.set("hooks", {
    beforeStart: hasNetwork ? `${remove}; docker network create ${project.name} >/dev/null 2>&1 || true` : remove,
    afterStop: remove,
  });
  const signal = STOP_SIGNALS.find(([pattern]) => pattern.test(image))?.[1];
  if (draft.fields.stopSignal === undefined && signal !== undefined) draft.set("stopSignal", signal);
  draft.note(
    "image",
    `runs in a container as before, and needs docker. It is stopped by ${scalarText(draft.fields.stopSignal) || "SIGTERM"}: if the image has another STOPSIGNAL, that is "stopSignal"`,
  );
  return [
    `exec docker run --rm --name ${name}`,
    ...network,
    ...flagsOf(service),
    ...portFlags(service),
    ...volumeFlags(service),
    ...variableFlags(service, envNames),
    ...(entrypoint === undefined ? [] : [`--entrypoint ${shellWord(program)}`]),
    shellWord(interpolated(image, () => undefined)),
    ...[...args, ...(wordsOf(service, "command") ?? [])].map(shellWord),
  ].join(" ");
}

function networkFlags({ draft, fields, project }: ComposeService): readonly string[] {
  const mode = fields.text("network_mode");
  if (fields.any("networks", "links") !== undefined)
    draft.note(
      "networks",
      "all containers of this file are in one network, and find each other by the names of services",
    );
  if (mode !== undefined && !/^(service|container):/.test(mode)) return [`--network ${shellQuote(mode)}`];
  if (mode !== undefined)
    draft.note("network_mode", `${mode} isn't carried over: "cmd" needs --network container:NAME`);
  return project.hasNetwork ? [`--network ${project.name}`, `--network-alias ${shellQuote(draft.name)}`] : [];
}

function flagsOf(service: ComposeService): readonly string[] {
  const { draft, fields, deploy } = service;
  const limits = deploy.object("resources")?.limits;
  const { memory, cpus } = isObject(limits) ? limits : {};
  const deployed: Readonly<Record<string, unknown>> = { mem_limit: memory, cpus };
  const values = Object.entries(VALUE_FLAGS).flatMap(([name, flag]) => {
    const given = fields.any(name) ?? deployed[name];
    return scalarText(given) === "" ? [] : [`${flag} ${shellQuote(scalarText(given))}`];
  });
  const lists = Object.entries(LIST_FLAGS).flatMap(([name, flag]) =>
    entriesOf(fields.any(name), name === "extra_hosts" ? ":" : "=").map((each) => `${flag} ${shellQuote(each)}`),
  );
  const ulimits = Object.entries(fields.object("ulimits") ?? {}).map(
    ([name, limit]) => `--ulimit ${shellQuote(`${name}=${limitOf(limit)}`)}`,
  );
  const switches = Object.entries(SWITCHES).filter(([name]) => fields.flag(name) === true);
  if (fields.flag("stdin_open") === true) draft.set("stdin", true);
  if (fields.flag("tty") === true)
    draft.note("tty", 'add --tty to the command, and "tty": true, if it is to have a terminal');
  return [
    ...switches.map(([, flag]) => flag),
    ...(fields.flag("stdin_open") === true ? ["--interactive"] : []),
    ...values,
    ...lists,
    ...ulimits,
  ];
}

function limitOf(limit: unknown): string {
  if (!isObject(limit)) return scalarText(limit);
  return [limit.soft, limit.hard].map(scalarText).filter(Boolean).join(":");
}

/** Entries of a list, of a text, or of an object. */
function entriesOf(given: unknown, sign: string): readonly string[] {
  if (isObject(given)) return Object.entries(given).map(([name, value]) => `${name}${sign}${scalarText(value)}`);
  return [given ?? []]
    .flat()
    .map(scalarText)
    .filter((text) => text !== "");
}

/** With several instances, the first port is that of the instance. */
function portFlags({ draft, fields }: ComposeService): readonly string[] {
  const ports = [fields.any("ports") ?? []]
    .flat()
    .map(portText)
    .filter((text) => text !== "");
  const cluster = draft.fields.cluster;
  return ports.flatMap((text, index) => {
    const [, target] = /(?:^|:)([^:]+)$/.exec(text) ?? [];
    if (!isObject(cluster) || target === text) return [`-p ${shellWord(interpolated(text, () => undefined))}`];
    if (index > 0 || target === undefined) return [];
    return [`-p ${"commonPort" in cluster ? "127.0.0.1:" : ""}{port}:${shellQuote(target)}`];
  });
}

function portText(entry: unknown): string {
  if (!isObject(entry)) return scalarText(entry);
  const parts = [entry.host_ip, entry.published, entry.target].map(scalarText).filter((part) => part !== "");
  return `${parts.join(":")}${scalarText(entry.protocol) === "" ? "" : `/${scalarText(entry.protocol)}`}`;
}

function volumeFlags(service: ComposeService): readonly string[] {
  const { draft, fields } = service;
  return [fields.any("volumes") ?? []].flat().flatMap((entry: unknown) => {
    if (!isObject(entry)) return scalarText(entry) === "" ? [] : [volumeFlag(service, scalarText(entry))];
    const { type, source, target, read_only: isReadOnly } = entry;
    if (type === "tmpfs") return [`--tmpfs ${shellQuote(scalarText(target))}`];
    if (type !== "bind" && type !== "volume") {
      draft.note("volumes", `one of the type ${scalarText(type)} isn't carried over`);
      return [];
    }
    const parts = [source, target, isReadOnly === true ? "ro" : undefined]
      .map(scalarText)
      .filter((part) => part !== "");
    return [volumeFlag(service, parts.join(":"))];
  });
}

/** A path of this host, or the name of a volume, which compose puts the name of the project in front of. */
function volumeFlag({ project }: ComposeService, text: string): string {
  const [, source = "", rest = ""] = /^([^:]+)(:.*)$/.exec(text) ?? [];
  const settings = project.volumes[source];
  const isNamed = /^\w/.test(source);
  const { name, external } = isObject(settings) ? settings : {};
  const volume =
    scalarText(name) || (external === undefined || external === false ? `${project.name}_${source}` : source);
  const place = source.replace(/^\.(?=\/|$)/, () => "${PWD}").replace(/^(?=\.\.)/, () => "${PWD}/");
  const given = source === "" ? text : `${isNamed ? volume : place.replace(/^~/, () => "${HOME}")}${rest}`;
  return `-v ${shellWord(interpolated(given, () => undefined))}`;
}

/** docker itself, or procman, reads these: their values are for the container alone. */
const OWN_VARIABLES = /^(PATH|PWD|HOME|DOCKER_\w+)$/;

function variableFlags({ draft, fields }: ComposeService, envNames: readonly string[]): readonly string[] {
  const given = fields.any("environment");
  const variables = Object.entries(variablesOf(given, (field, advice) => draft.note(field, advice)));
  const [own, others] = [true, false].map((isOwn) =>
    variables.filter(([name]) => OWN_VARIABLES.test(name) === isOwn),
  ) as [typeof variables, typeof variables];
  if (others.length > 0) draft.set("env", Object.fromEntries(others));
  const names = new Set([...envNames, ...namesOf(given)].filter((name) => !own.some(([each]) => each === name)));
  return [
    ...[...names].map((name) => `-e ${shellQuote(name)}`),
    ...own.map(([name, value]) => `-e ${shellWord(interpolated(`${name}=${value}`, () => undefined))}`),
  ];
}
