/** Programs of supervisord. */
import { hostname } from "node:os";
import { dirname } from "node:path";
import { ownMember } from "../../core/base/interpolate.ts";
import { type ConfigurationDraft, idOf, type ProcessDraft } from "./configuration-draft.ts";
import { type AdviceTable, ForeignFields } from "./foreign-fields.ts";
import { envValue, type ForeignText, shellWord, splitText } from "./foreign-text.ts";
import { type IniSection, readIni } from "./ini-file.ts";
import { splitWords, UnclosedQuote } from "./shell-words.ts";
import type { ForeignFile } from "./source-file.ts";
import { type Expansion, expandedBy, instanceNumber } from "./supervisord-expansions.ts";

/** Reads the files that `[include]` names. */
export type ReadIncluded = (pattern: string, folder: string) => readonly ForeignFile[];

type Section = IniSection & { readonly from: ForeignFile };

/** A program, while its process is made. */
type SupervisordProgram = {
  readonly draft: ProcessDraft;
  readonly fields: ForeignFields;
  readonly configuration: ConfigurationDraft;
  readonly expand: (text: string) => ForeignText;
  readonly place: (text: string) => string;
};

/** @throws {SourceFault} */
export function importSupervisord(main: ForeignFile, configuration: ConfigurationDraft, included: ReadIncluded): void {
  const sections = withIncludes(main, configuration, included);
  for (const section of sections) {
    const [, kind = section.name, name = ""] = /^([^:]+):(.*)$/.exec(section.name) ?? [];
    if (kind === "program" || kind === "fcgi-program") importProgram(section, name.trim(), configuration);
    else if (kind === "supervisord") importDaemon(section, configuration);
    else if (kind !== "group" && kind !== "include") {
      const advice = ownMember(SECTION_ADVICE, kind);
      if (advice !== "")
        configuration.note(
          `[${section.name}]`,
          advice ?? "supervisord has no such section, or it is unknown to this import",
        );
    }
  }
  for (const section of sections.filter(({ name }) => name.startsWith("group:"))) importGroup(section, configuration);
}

function withIncludes(
  main: ForeignFile,
  configuration: ConfigurationDraft,
  included: ReadIncluded,
): readonly Section[] {
  const own = readIni(main.text).map((section) => ({ ...section, from: main }));
  const patterns = own
    .filter(({ name }) => name === "include")
    .flatMap(({ values }) => (values.files ?? "").split(/\s+/).filter(Boolean));
  const here = dirname(main.file);
  const others = patterns.flatMap((pattern) => {
    const found = included(pattern.replaceAll("%(here)s", here).replaceAll("%(host_node_name)s", hostname()), here);
    if (found.length === 0) configuration.note("[include]", `${pattern} finds no file`);
    return found.filter(({ file }) => file !== main.file);
  });
  return [...own, ...others.flatMap((file) => readFrom(file))];
}

function readFrom(from: ForeignFile): readonly Section[] {
  return readIni(from.text).map((section) => ({ ...section, from }));
}

function importDaemon({ values, from }: Section, configuration: ConfigurationDraft): void {
  const fields = new ForeignFields(values, (field, advice) => configuration.note(`[supervisord] ${field}`, advice));
  const expand = expandedBy({
    here: dirname(from.file),
    name: "supervisord",
    group: "supervisord",
    count: 1,
    start: 0,
    startPort: undefined,
  });
  const env = environmentIn(fields.text("environment") ?? "", expand, (advice) =>
    configuration.note("[supervisord] environment", advice),
  );
  if (Object.keys(env).length > 0) configuration.merge("env", env);
  fields.rest(SUPERVISORD_ADVICE, "supervisord");
}

function importGroup({ name, values }: Section, configuration: ConfigurationDraft): void {
  const group = idOf(name.slice("group:".length));
  const programs = (values.programs ?? "").split(",").map((each) => each.trim());
  for (const draft of configuration.processes)
    if (programs.includes(draft.name))
      draft.set("groups", [...((draft.fields.groups as string[] | undefined) ?? []), group]);
}

function importProgram(section: Section, name: string, configuration: ConfigurationDraft): void {
  const draft = configuration.add(name || "program", section.from.shownAs);
  const fields = new ForeignFields(section.values, (field, advice) => draft.note(field, advice));
  const command = fields.text("command");
  const count = fields.number("numprocs") ?? 1;
  const start = fields.number("numprocs_start") ?? 0;
  const here = dirname(section.from.file);
  const startPort = count > 1 ? instanceNumber.port(Object.values(section.values).join("\n"), start) : undefined;
  const expansion: Expansion = { here, name, group: name, count, start, startPort };
  const expand = expandedBy(expansion, (what) =>
    draft.note("expressions", `${what} is unknown to this import: write its value`),
  );
  // supervisord resolves paths from the folder in which it is started.
  const place = (text: string): string => configuration.path(configuration.folder, envValue(expand(text)));
  if (count > 1)
    draft.set("cluster", {
      instances: count,
      ...(startPort !== undefined && { startPort, portVariable: "PROCMAN_CLUSTER_PORT" }),
    });
  const program: SupervisordProgram = { draft, fields, configuration, expand, place };
  const line = command === undefined ? undefined : commandLine(program, command);
  fillProgram(program);
  fields.rest(PROGRAM_ADVICE, "supervisord");
  if (line === undefined)
    return configuration.drop(
      draft,
      "command",
      command === undefined ? "is missing, so there is nothing to run" : "can't be split into words",
    );
  draft.set("cmd", line);
}

function commandLine({ draft, expand }: SupervisordProgram, command: string): string | undefined {
  try {
    return splitText(expand(command.replaceAll("\n", " ")), splitWords)
      .map(shellWord)
      .join(" ");
  } catch (error) {
    if (!(error instanceof UnclosedQuote)) throw error;
    draft.note("command", error.message);
    return undefined;
  }
}

function fillProgram(program: SupervisordProgram): void {
  const { draft, fields, expand, place } = program;
  const cwd = place(fields.text("directory") ?? ".");
  if (cwd !== ".") draft.set("cwd", cwd);
  draft.set("autostart", fields.flag("autostart") ?? true).set("stdin", true);
  restartsOf(program);
  stopsOf(program);
  const env = environmentIn(fields.text("environment") ?? "", expand, (advice) => draft.note("environment", advice));
  if (Object.keys(env).length > 0) draft.set("env", { ...(draft.fields.env as object | undefined), ...env });
  draft.set("user", fields.text("user"));
  const umask = fields.text("umask");
  if (umask !== undefined) draft.set("umask", umask.padStart(3, "0"));
  outputFiles(program);
}

function restartsOf({ draft, fields }: SupervisordProgram): void {
  const when = fields.text("autorestart")?.toLowerCase() ?? "unexpected";
  draft.set("restart", /^(true|yes|on|1)$/.test(when) ? "always" : /^(false|no|off|0)$/.test(when) ? "never" : "error");
  const codes = fields
    .text("exitcodes")
    ?.split(",")
    .map((code) => Number(code.trim()));
  const others = codes?.filter((code) => Number.isInteger(code) && code !== 0) ?? [];
  if (others.length > 0) draft.set("successExitCodes", others);
  if (codes !== undefined && !codes.includes(0))
    draft.note("exitcodes", "0 is not among them; in procman it always counts as success");
  const uptime = fields.number("startsecs");
  if (uptime !== undefined) draft.set("minUptimeMs", uptime * 1_000);
  draft.set("restartLimit", fields.number("startretries"));
}

function stopsOf({ draft, fields }: SupervisordProgram): void {
  const signal = fields.text("stopsignal")?.toUpperCase().replace(/^SIG/, "");
  if (signal === "KILL")
    draft.set("terminateTimeout", 0).note("stopsignal", "KILL: it gets SIGTERM, and SIGKILL at once");
  else if (signal !== undefined && signal !== "TERM") draft.set("stopSignal", `SIG${signal}`);
  const wait = fields.number("stopwaitsecs");
  if (signal !== "KILL") draft.set("terminateTimeout", wait);
  const reachesGroup = fields.flag("stopasgroup") === true;
  if (!reachesGroup) draft.set("killMode", "leader");
  fields.skip("killasgroup");
}

/** A variable of `A="1",B=two,C='a,b'`. */
const PAIR = /\s*([^=\s,]+)\s*=((?:"(?:[^"\\]|\\[\s\S])*"|'[^']*'|[^,"'])*)(?:,|$)/gy;

/** The variables of `environment` as procman writes them. `fault` gets what can't be read. */
export function environmentIn(
  text: string,
  expand: (text: string) => ForeignText,
  fault: (advice: string) => void,
): Readonly<Record<string, string>> {
  const variables: [string, string][] = [];
  const source = text.replaceAll("\n", " ").trim();
  let end = 0;
  PAIR.lastIndex = 0;
  for (let found = PAIR.exec(source); found !== null && found[0] !== ""; found = PAIR.exec(source)) {
    const [, name = "", value = ""] = found;
    variables.push([name, envValue(expand(unquoted(value.trim())))]);
    end = PAIR.lastIndex;
  }
  if (end < source.length)
    fault(`can't be read from ${JSON.stringify(source.slice(end, end + 40))} on: write the rest as "env"`);
  return Object.fromEntries(variables);
}

function unquoted(value: string): string {
  return value.replace(
    /"((?:[^"\\]|\\[\s\S]?)*)(?:"|$)|'([^']*)(?:'|$)/g,
    (_, double: string | undefined, single: string) => double?.replace(/\\(["\\])/g, "$1") ?? single,
  );
}

/** Sizes of supervisord are powers of 1024. */
const SIZE = /^(\d+)\s*([KMG])?B?$/i;

/** Log files. */
function outputFiles(program: SupervisordProgram): void {
  const { draft, fields } = program;
  const stdout = fileOf(program, "stdout_logfile");
  const isMerged = fields.flag("redirect_stderr") === true;
  const stderr = isMerged ? undefined : fileOf(program, "stderr_logfile");
  draft.merge("logger", { stdout, stderr });
  for (const stream of ["stdout", "stderr"])
    if (fields.flag(`${stream}_syslog`) === true)
      draft.note(`${stream}_syslog`, "the plugin procman/logship sends lines to syslog: docs/guide/plugins.md");
  const size = sizeIn(fields.text("stdout_logfile_maxbytes"));
  const backups = fields.number("stdout_logfile_backups");
  fields.skip("stderr_logfile_maxbytes", "stderr_logfile_backups");
  if (size === undefined && backups === undefined) return;
  if (size === 0) return void draft.merge("logger", { rotate: false });
  const bytes = size ?? 50 * 1024 ** 2;
  draft.merge("logger", {
    rotate: { size: bytes, ...(backups !== undefined && backups > 0 && { total: bytes * backups }) },
  });
}

function fileOf({ draft, fields, place }: SupervisordProgram, name: string): string | undefined {
  const given = fields.text(name);
  if (given === undefined || /^(AUTO|NONE)$/i.test(given)) return undefined;
  if (given === "syslog") draft.note(name, "the plugin procman/logship sends lines to syslog: docs/guide/plugins.md");
  else if (/^\/dev\/(stdout|stderr|fd\/[12])$/.test(given)) draft.merge("logger", { console: true });
  else if (given !== "/dev/null") return place(given);
  return undefined;
}

function sizeIn(text: string | undefined): number | undefined {
  const [, number = "", unit = ""] = SIZE.exec(text?.trim() ?? "") ?? [];
  return number === "" ? undefined : Number(number) * 1024 ** ["", "K", "M", "G"].indexOf(unit.toUpperCase());
}

/** What to do about fields of a program without an equal. */
const PROGRAM_ADVICE: AdviceTable = {
  process_name: "",
  priority: 'processes start together; if one must wait for others: "dependsOn", docs/guide/processes.md',
  serverurl: "the REST API is in docs/reference/api.md",
  stdout_capture_maxbytes: "programs send events by procman's API: docs/reference/api.md",
  stderr_capture_maxbytes: "programs send events by procman's API: docs/reference/api.md",
  stdout_events_enabled: "plugins get all lines and events: docs/guide/plugins.md",
  stderr_events_enabled: "plugins get all lines and events: docs/guide/plugins.md",
  socket: 'the instances of a cluster share a TCP socket by "mode": "share": docs/guide/clusters.md',
  socket_owner: "a shared socket is a TCP port",
  socket_mode: "a shared socket is a TCP port",
  socket_backlog: "the backlog of a shared socket can't be set",
};

/** What to do about fields of supervisord itself without an equal. */
const SUPERVISORD_ADVICE: AdviceTable = {
  logfile: "",
  logfile_maxbytes: "",
  logfile_backups: "",
  loglevel: "",
  pidfile: "",
  nodaemon: "",
  silent: "",
  childlogdir: "",
  strip_ansi: "procman stores output as it is; `procman logs` leaves colours out where they aren't wanted",
  nocleanup: "",
  identifier: "",
  umask: 'is "umask" of each process',
  minfds: '"ulimits": { "nofile": … } of the processes that need it',
  minprocs: '"ulimits": { "nproc": … } of the processes that need it',
  user: "start procman as this user",
  directory: "start procman in the folder of its file",
};

/** What to do about sections without an equal. */
const SECTION_ADVICE: AdviceTable = {
  unix_http_server: "",
  inet_http_server: "the REST API has tokens: docs/reference/api.md",
  supervisorctl: "",
  rpcinterface: "",
  eventlistener:
    'a plugin or `GET /events` gets the events: docs/guide/plugins.md; for mails procman/notify, for memory "memoryLimit"',
};
