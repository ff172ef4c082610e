/** Units of systemd: services, with their timers and paths. */

import { homedir, hostname, userInfo } from "node:os";
import { basename, dirname } from "node:path";
import type { ConfigurationDraft, ProcessDraft } from "./configuration-draft.ts";
import { type ForeignText, type Reference, shellWord, variable } from "./foreign-text.ts";
import { cronOf, spanOf } from "./on-calendar.ts";
import type { SystemdUnit } from "./service-unit.ts";
import type { ForeignFile } from "./source-file.ts";
import { serviceEnvironment, serviceLimits, serviceOutput } from "./systemd-limits.ts";
import { serviceRestarts, serviceStops, signalOfKill } from "./systemd-policy.ts";
import { readUnit, type UnitSections, unitCommands, unitWords } from "./unit-file.ts";

type Unit = {
  readonly name: string;
  readonly kind: string;
  readonly file: ForeignFile;
  readonly sections: UnitSections;
};

/** The drop-ins of a unit, sorted. */
export type ReadDropIns = (unit: string) => readonly string[];

/** @throws {SourceFault} */
export function importUnits(
  files: readonly ForeignFile[],
  configuration: ConfigurationDraft,
  dropIns: ReadDropIns,
): void {
  const units = withInstances(
    files.map((file): Unit => {
      const [, name = basename(file.file), kind = ""] = /^(.*)\.(\w+)$/.exec(basename(file.file)) ?? [];
      return { name, kind, file, sections: readUnit([file.text, ...dropIns(file.file)]) };
    }),
  );
  const services = units.filter(({ kind }) => kind === "service");
  const drafts = new Map(services.map((unit) => [unit, configuration.add(unit.name, unit.file.shownAs)] as const));
  const ids = new Map([...drafts].map(([{ name }, { id }]) => [`${name}.service`, id]));
  for (const [unit, draft] of drafts) {
    fillService(unit, draft, configuration);
    dependenciesOf(unit, draft, { ids, services });
    noteUnit(unit, draft);
  }
  for (const unit of units.filter(({ kind }) => kind !== "service")) importCompanion(unit, drafts, configuration);
  for (const draft of drafts.values())
    if (draft.fields.cmd === undefined)
      configuration.drop(draft, "ExecStart", "is missing, so there is nothing to run");
}

/** A timer or path of an instance, as `backup@home.timer`, makes that of its template: `backup@home.service` of `backup@.service`. */
function withInstances(units: readonly Unit[]): readonly Unit[] {
  const names = new Set(units.map(({ name, kind }) => `${name}.${kind}`));
  const made = units.flatMap((unit) => {
    const target = unit.kind === "service" ? "" : targetOf(unit);
    const [, prefix = "", instance = ""] = /^([^@]+@)(.+)\.service$/.exec(target) ?? [];
    const template = units.find(({ name, kind }) => kind === "service" && name === prefix);
    return template === undefined || names.has(target) ? [] : [{ ...template, name: `${prefix}${instance}` }];
  });
  const templates = new Set(made.map(({ name }) => name.replace(/@.*/s, "@")));
  // systemd runs no template, only its instances.
  return [...units.filter(({ name, kind }) => kind !== "service" || !templates.has(name)), ...made];
}

/** The service that a timer or path starts. */
function targetOf({ name, kind, sections }: Unit): string {
  const section = sections.get(kind.charAt(0).toUpperCase() + kind.slice(1));
  const [target = `${name}.service`] = section?.get("Unit") ?? section?.get("Service") ?? [];
  return specifiersOf(name, () => undefined)(target);
}

function fillService({ name, file, sections }: Unit, draft: ProcessDraft, configuration: ConfigurationDraft): void {
  const service = sections.get("Service") ?? new Map<string, readonly string[]>();
  const used = new Set<string>();
  const specified = specifiersOf(name, (what) =>
    draft.note("specifier", `${what} is unknown to this import: write its value`),
  );
  const all = (directive: string): readonly string[] => {
    used.add(directive);
    return service.get(directive) ?? [];
  };
  const one = (directive: string): string | undefined => {
    const value = all(directive).at(-1);
    return value === undefined ? undefined : specified(value);
  };
  const unit: SystemdUnit = {
    draft,
    configuration,
    one,
    all: (directive) => all(directive).map(specified),
    folder: dirname(file.file),
  };
  if (/@$/.test(name))
    draft
      .set("cluster", { instances: 1 })
      .note(
        "template",
        `${name}.service is a template: set how many instances run; {instance} is their number, from 1`,
      );
  const start = sections.get("Unit") ?? new Map<string, readonly string[]>();
  draft.set("cmd", serviceLine(unit));
  const folder = one("WorkingDirectory")?.replace(/^-/, "");
  draft.set("cwd", folder === undefined ? "/" : configuration.path("/", folder));
  draft.set("autostart", true);
  serviceRestarts(unit, new Map([...start].map(([key, values]) => [key, values.at(-1) ?? ""])));
  serviceStops(unit);
  serviceEnvironment(unit);
  serviceLimits(unit);
  serviceOutput(unit);
  for (const directive of service.keys()) if (!used.has(directive)) noteUnused(directive, draft);
}

function noteUnused(directive: string, draft: ProcessDraft): void {
  const [, advice = UNKNOWN_DIRECTIVE] = UNIT_ADVICE.find(([pattern]) => pattern.test(directive)) ?? [];
  if (advice !== "") draft.note(directive, advice);
}

/** The names that these directives of `[Unit]` list. */
function namedIn({ sections }: Unit, ...directives: readonly string[]): readonly string[] {
  const unit = sections.get("Unit");
  return directives.flatMap((each) => unit?.get(each) ?? []).flatMap((line) => line.split(/\s+/));
}

type ImportedUnits = { readonly ids: ReadonlyMap<string, string>; readonly services: readonly Unit[] };

/** `After=` alone orders; with `Requires=` or `Wants=` the other one is started, too. procman has one list for both. */
function dependenciesOf(unit: Unit, draft: ProcessDraft, { ids, services }: ImportedUnits): void {
  const own = `${unit.name}.service`;
  const bound = new Set(namedIn(unit, "BindsTo", "PartOf"));
  const names = new Set([
    ...namedIn(unit, "Requires", "Requisite", "Wants", "After", "BindsTo", "PartOf"),
    ...services.filter((other) => namedIn(other, "Before").includes(own)).map(({ name }) => `${name}.service`),
  ]);
  const list = [...names].flatMap((name) => {
    const id = ids.get(name);
    if (id === undefined || id === draft.id) {
      if (id === undefined && !IGNORED_TARGETS.test(name))
        draft.note(
          "After",
          `${name} is not imported: import it together with this unit, or let systemd start it before procman`,
        );
      return [];
    }
    return [{ id, condition: "ready", ...(bound.has(name) && { restart: true }) }];
  });
  if (list.length > 0) draft.set("dependsOn", list);
  for (const name of namedIn(unit, "Before"))
    if (!ids.has(name) && !IGNORED_TARGETS.test(name))
      draft.note("Before", `${name} is not imported: import it together with this unit`);
}

function noteUnit({ sections }: Unit, draft: ProcessDraft): void {
  for (const [directive, values] of sections.get("Unit") ?? []) {
    const [, advice = UNKNOWN_DIRECTIVE] = START_ADVICE.find(([pattern]) => pattern.test(directive)) ?? [];
    if (advice !== "") for (const value of values) draft.note(directive, `${value}: ${advice}`);
  }
}

/** A service that ends before others start has finished, not become ready. */
export function finishedDependencies(configuration: ConfigurationDraft): void {
  const oneShots = new Set(
    configuration.processes.filter(({ fields }) => fields.restart === "never").map(({ id }) => id),
  );
  for (const { fields } of configuration.processes)
    if (Array.isArray(fields.dependsOn))
      fields.dependsOn = fields.dependsOn.map((entry: { readonly id: string }) =>
        oneShots.has(entry.id) ? { ...entry, condition: "finished" } : entry,
      );
}

function importCompanion(unit: Unit, drafts: ReadonlyMap<Unit, ProcessDraft>, configuration: ConfigurationDraft): void {
  const { kind, file, sections } = unit;
  const section = sections.get(kind.charAt(0).toUpperCase() + kind.slice(1)) ?? new Map<string, readonly string[]>();
  const target = targetOf(unit);
  const draft = [...drafts].find(([{ name }]) => `${name}.service` === target)?.[1];
  if (kind !== "timer" && kind !== "path" && kind !== "socket")
    return configuration.note(file.shownAs, "only services, timers, paths and sockets are imported");
  if (draft === undefined) return configuration.note(file.shownAs, `is for ${target}: import that together with it`);
  if (kind === "timer") timer(draft, section);
  else if (kind === "path") {
    const paths = ["PathChanged", "PathModified", "PathExists", "DirectoryNotEmpty"].flatMap(
      (directive) => section.get(directive) ?? [],
    );
    draft.set(
      "watch",
      paths.map((path) => configuration.path("/", path)),
    );
    delete draft.fields.autostart;
    draft.note(
      file.shownAs,
      'a process with "watch" also starts with procman, and is restarted by a change: docs/guide/reload.md',
    );
  } else
    draft.note(
      file.shownAs,
      'the instances of a cluster get a listening TCP socket as systemd passes it: "cluster": { "instances": 1, "mode": "share", "commonPort": … }, docs/guide/clusters.md',
    );
}

function timer(draft: ProcessDraft, section: ReadonlyMap<string, readonly string[]>): void {
  const calendars = section.get("OnCalendar") ?? [];
  const [first] = calendars.map(cronOf);
  delete draft.fields.autostart;
  delete draft.fields.restart;
  if (first === undefined)
    draft.note("OnCalendar", `${calendars[0] ?? "is missing"}: write it as "cron", docs/guide/processes.md`);
  else draft.set("cron", first.pattern).set("timeZone", first.timeZone);
  for (const other of calendars.slice(1))
    draft.note("OnCalendar", `${other}: one process has one schedule; add a second process`);
  if (section.get("Persistent")?.some((value) => /^(true|yes|on|1)$/i.test(value)) === true) draft.set("catchUp", true);
  const jitter = spanOf(section.get("RandomizedDelaySec")?.at(-1));
  if (jitter !== undefined && jitter > 0) draft.set("jitter", jitter);
  for (const directive of ["OnBootSec", "OnStartupSec", "OnActiveSec", "OnUnitActiveSec", "OnUnitInactiveSec"])
    for (const value of section.get(directive) ?? [])
      draft.note(directive, `${value}: procman starts at times: "cron": "*/15 * * * *" is each quarter of an hour`);
}

/** The command line of `ExecStart=`, and the hooks around it. undefined: there is none. */
function serviceLine(unit: SystemdUnit): string | undefined {
  const commands = (directive: string, shownAs = directive): readonly string[] =>
    unit
      .all(directive)
      .flatMap(unitCommands)
      .map((line) => commandOf(line, unit, shownAs));
  const starts = commands("ExecStart");
  const before = [...commands("ExecCondition", "ExecStartPre"), ...commands("ExecStartPre")];
  if (before.length > 0) unit.draft.merge("hooks", { beforeStart: before.join(" && ") });
  const after = commands("ExecStopPost");
  if (after.length > 0) unit.draft.merge("hooks", { afterStop: after.join("; ") });
  const reload = unit.one("ExecReload");
  const signal = signalOfKill(reload ?? "");
  if (signal !== undefined && /^SIG(HUP|USR1|USR2|WINCH)$/.test(signal)) unit.draft.set("reloadSignal", signal);
  else if (reload !== undefined) unit.draft.note("ExecReload", 'procman reloads a program by a signal: "reloadSignal"');
  return starts.length === 0 ? undefined : starts.join(" && ");
}

function commandOf(line: string, { draft }: SystemdUnit, directive: string): string {
  const [, prefix = "", rest = ""] = /^([-@:+!|]*)\s*([\s\S]*)$/.exec(line) ?? [];
  const [first = "", ...words] = unitWords(rest);
  // With @ the second word is the name that the program sees of itself.
  const args = prefix.includes("@") ? words.slice(1) : words;
  if (/[+!]/.test(prefix))
    draft.note(directive, `${prefix} gives ${first} other rights than the rest: procman runs all of it as "user"`);
  const isPlain = prefix.includes(":");
  const command = [shellWord([first]), ...args.map((word) => argument(word, isPlain))].join(" ");
  return prefix.includes("-") ? `{ ${command} || true; }` : command;
}

/** A variable alone is split at its blanks, as by the shell. `isPlain`: nothing is a variable. */
function argument(word: string, isPlain: boolean): string {
  if (isPlain) return shellWord([word]);
  return /^\$[A-Za-z_]\w*$/.test(word) ? word : shellWord(references(word));
}

function references(word: string): ForeignText {
  const pieces: (string | Reference)[] = [];
  let end = 0;
  for (const { 0: whole, 1: name, index } of word.matchAll(/\$\$|\$\{([A-Za-z_]\w*)\}/g)) {
    pieces.push(word.slice(end, index), name === undefined ? "$" : variable(name));
    end = index + whole.length;
  }
  return [...pieces, word.slice(end)].filter((piece) => piece !== "");
}

/** Replaces the specifiers, such as `%n`, `%i` and `%h`, in a text of the unit of this name (without its ending). */
function specifiersOf(name: string, unknown: (what: string) => void): (text: string) => string {
  const [prefix = name, instance = ""] = name.split(/@(.*)/s);
  const isTemplate = name.endsWith("@");
  const values: Readonly<Record<string, () => string>> = {
    "%": () => "%",
    n: () => `${name}.service`,
    N: () => name,
    p: () => prefix,
    P: () => prefix.replaceAll("-", "/"),
    i: () => (isTemplate ? "{instance}" : instance),
    I: () => (isTemplate ? "{instance}" : instance.replaceAll("-", "/")),
    h: () => homedir(),
    H: () => hostname(),
    u: () => userInfo().username,
    U: () => String(userInfo().uid),
    t: () => "/run",
    S: () => "/var/lib",
    C: () => "/var/cache",
    L: () => "/var/log",
    E: () => "/etc",
    T: () => "/tmp",
    V: () => "/var/tmp",
  };
  return (text) =>
    text.replace(/%([\s\S])/g, (written, letter: string) => {
      const value = Object.hasOwn(values, letter) ? values[letter]?.() : undefined;
      if (value === undefined) unknown(written);
      return value ?? written;
    });
}

const UNKNOWN_DIRECTIVE = "is not a directive that this import knows; see docs/guide/migrate.md";

/** What to do about directives of `[Unit]`. */
const START_ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^(Description|Documentation|SourcePath|DefaultDependencies|CollectMode|IgnoreOnIsolate|RefuseManual\w+)$/, ""],
  [/^(After|Before|Requires|Requisite|Wants|BindsTo|PartOf|StartLimitBurst|StartLimitInterval(Sec)?)$/, ""],
  [/^OnFailure$/, "the plugin procman/notify calls a webhook or a command, docs/guide/plugins.md"],
  [/^(Conflicts|Condition\w+|Assert\w+)$/, 'let a "beforeStart" hook check it, docs/guide/processes.md'],
];

const SANDBOX = "procman has no sandbox: set it in procman's own unit, for all processes";

/** What to do about directives of `[Service]` without an equal. The first row that matches counts; an empty text: nothing is needed. */
const UNIT_ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^(ExecStartPost)$/, '"ready" says when it is up; a command beside the program is a process with "dependsOn"'],
  [/^(WatchdogSec)$/, '"health" asks it at intervals, by a port, an address or a command: docs/guide/supervision.md'],
  [
    /^(RemainAfterExit|GuessMainPID|NotifyAccess|SyslogIdentifier|TimeoutStartSec|SendSIGKILL|FinalKillSignal|TimeoutAbortSec)$/,
    "",
  ],
  [/^(StandardInput.*|TTY.*)$/, 'standard input is /dev/null, or what "stdin" says: docs/guide/input.md'],
  [/^(Syslog.*|Log.*)$/, 'output is in procman\'s log: "logger", docs/guide/logs.md'],
  [
    /^(RuntimeDirectory|StateDirectory|CacheDirectory|LogsDirectory|ConfigurationDirectory).*$/,
    'let a "beforeStart" hook make the folder: docs/guide/processes.md',
  ],
  [/^(SupplementaryGroups|DynamicUser)$/, '"user" has the groups of that account'],
  [
    /^(Slice|Delegate|.*Accounting|CPUWeight|IOWeight|StartupCPUWeight|MemorySwapMax|TasksMax|CPUAffinity|CPUSchedulingPolicy|AllowedCPUs)$/,
    'limits are "memoryMax", "cpuQuota", "nice" and "ulimits": docs/guide/environment.md',
  ],
  [
    /^(Protect.*|Private.*|Restrict.*|Capability.*|Ambient.*|NoNewPrivileges|SystemCall.*|ReadOnly.*|ReadWrite.*|Inaccessible.*|LockPersonality|MemoryDenyWriteExecute|Device.*|Bind.*|RootDirectory|RootImage|SELinuxContext|AppArmorProfile|SecureBits|IPAddress.*|TemporaryFileSystem|RemoveIPC|KeyringMode|Umask)$/,
    SANDBOX,
  ],
  [/^(Sockets)$/, 'a listening socket is "mode": "share" of a cluster: docs/guide/clusters.md'],
];

/** Units that are there when procman starts. */
const IGNORED_TARGETS: RegExp = /^$|\.(target|slice|mount|swap)$|^(systemd|dbus|syslog|rsyslog|getty)\b/;
