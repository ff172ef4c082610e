/** Programs of supervisord. */
import { dirname, resolve } from "node:path";
import { ownMember } from "../../core/base/interpolate.ts";
import { type ConfigurationDraft, idOf } from "./configuration-draft.ts";
import { type AdviceTable, ForeignFields, type TakeNote } from "./foreign-fields.ts";
import { envValue, type ForeignText, pathFields, shellWord, splitText, splitVariables } from "./foreign-text.ts";
import { type IniSection, readIni } from "./ini-file.ts";
import { OF_PYTHON, splitWords, UnclosedQuote } from "./shell-words.ts";
import type { ForeignFile } from "./source-file.ts";
import { environmentIn } from "./supervisord-environment.ts";
import {
  type Expansion,
  expandedBy,
  instanceNumber,
  isOfEnvironment,
  textNow,
  withOwn,
} from "./supervisord-expansions.ts";
import { programOutput } from "./supervisord-output.ts";
import { programRestarts, programStops } from "./supervisord-policy.ts";
import type { SupervisordProgram } from "./supervisord-program.ts";

/** Reads the files that `[include]` names. */
export type ReadIncluded = (pattern: string, folder: string) => readonly ForeignFile[];

type Section = IniSection & { readonly from: ForeignFile };

/** What a file says for all programs. */
type Common = {
  readonly variables: Readonly<Record<string, ForeignText>>;
  readonly umask: string | undefined;
  /** Where supervisord runs. */
  readonly folder: string;
  /** Group of a program, by the program's name. */
  readonly groups: ReadonlyMap<string, string>;
};

/** @throws {SourceFault} */
export function importSupervisord(main: ForeignFile, configuration: ConfigurationDraft, included: ReadIncluded): void {
  const sections = withIncludes(main, configuration, included);
  const daemon = sections.find(({ name }) => name === "supervisord");
  const common = { ...importDaemon(daemon, configuration), groups: groupsIn(sections) };
  for (const section of sections) {
    const [, kind = section.name, name = ""] = /^([^:]+):(.*)$/.exec(section.name) ?? [];
    if (kind === "program" || kind === "fcgi-program")
      importProgram(section, { name: name.trim(), common }, configuration);
    else if (kind !== "group" && kind !== "include" && kind !== "supervisord") {
      const advice = ownMember(SECTION_ADVICE, kind);
      if (advice !== "")
        configuration.note(
          `[${section.name}]`,
          advice ?? "supervisord has no such section, or it is unknown to this import",
        );
    }
  }
  noteOrder(sections, common.groups, configuration);
}

/** Without `priority`. */
const PRIORITY = 999;

/** "dependsOn" would keep the order, but makes a program wait at each of its starts: so it isn't written. */
function noteOrder(sections: readonly Section[], groups: Common["groups"], configuration: ConfigurationDraft): void {
  const priorityOf = (section: Section | undefined): number => {
    const priority = Number(section?.values.priority ?? PRIORITY);
    return Number.isFinite(priority) ? priority : PRIORITY;
  };
  const programs = sections.flatMap((section) => {
    const [, name] = /^(?:fcgi-)?program:(.*)$/.exec(section.name) ?? [];
    const draft = configuration.processes.find((each) => each.name === name?.trim());
    if (draft === undefined) return [];
    const group = groups.get(draft.name);
    const whole = group === undefined ? section : sections.find((each) => each.name === `group:${group}`);
    return [{ id: draft.id, rank: [priorityOf(whole), priorityOf(section)] as const }];
  });
  const steps = new Map<string, string[]>();
  for (const { id, rank } of programs.toSorted(({ rank: one }, { rank: two }) => one[0] - two[0] || one[1] - two[1]))
    steps.set(`${rank}`, [...(steps.get(`${rank}`) ?? []), id]);
  const [first, ...later] = [...steps.values()].map((ids) =>
    ids.length > 3 ? `${ids.length} programs` : ids.join(", "),
  );
  if (first === undefined || later.length === 0) return;
  configuration.note(
    "priority",
    `supervisord starts ${[first, ...later].join(", then ")}, without waiting for them, and stops them one after another in the opposite order; here all start and stop together: "dependsOn": [{ "id": …, "condition": "started" }] keeps the order, docs/guide/processes.md`,
  );
}

function groupsIn(sections: readonly Section[]): ReadonlyMap<string, string> {
  return new Map(
    sections
      .filter(({ name }) => name.startsWith("group:"))
      .flatMap(({ name, values }) =>
        (values.programs ?? "").split(",").map((each) => [each.trim(), name.slice("group:".length)] as const),
      ),
  );
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
  const expand = expandedBy({ ...DAEMON, here, variables: {} });
  const others = patterns.flatMap((pattern) => {
    const found = included(textNow(expand(pattern), process.env).text ?? pattern, here);
    if (found.length === 0) configuration.note("[include]", `${pattern} finds no file`);
    return found.filter(({ file }) => file !== main.file);
  });
  return [...own, ...others.flatMap((file) => readFrom(file))];
}

function readFrom(from: ForeignFile): readonly Section[] {
  return readIni(from.text).map((section) => ({ ...section, from }));
}

const DAEMON = { name: "supervisord", group: "supervisord", count: 1, start: 0, startPort: undefined };

function importDaemon(section: Section | undefined, configuration: ConfigurationDraft): Omit<Common, "groups"> {
  if (section === undefined) return { variables: {}, umask: undefined, folder: configuration.folder };
  const { values, from } = section;
  const fields = new ForeignFields(values, (field, advice) => configuration.note(`[supervisord] ${field}`, advice));
  const expand = expandedBy({ ...DAEMON, here: dirname(from.file), variables: {} });
  const variables = environmentIn(fields.text("environment") ?? "", expand, (advice) =>
    configuration.note("[supervisord] environment", advice),
  );
  // The top level has no "pathFirst".
  for (const [name, text] of Object.entries(variables))
    if (name !== "PATH") configuration.merge("env", { [name]: envValue(text) });
  const umask = fields.text("umask");
  const directory = textNow(expand(fields.text("directory") ?? "."), process.env).text ?? ".";
  // It stays where it was started unless it goes to the background.
  const isDaemon = fields.flag("nodaemon") !== true;
  fields.rest(SUPERVISORD_ADVICE, "supervisord");
  return { variables, umask, folder: resolve(configuration.folder, isDaemon ? directory : ".") };
}

/** Their variables are looked up at each start, or their files are named by them. */
const EXPANDED_LATER =
  /^(command|environment|directory|process_name|std(out|err)_logfile|numprocs|startretries|stopwaitsecs)$/;
const ONE_VARIABLE = /^%\(ENV_(\w+)\)s$/;

/** The values of a section, with the expressions of plain fields replaced as they are now. */
function valuesNow(
  values: IniSection["values"],
  expand: (text: string) => ForeignText,
  note: TakeNote,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(values).map(([key, given]) => {
      if (EXPANDED_LATER.test(key) || !given.includes("%(")) return [key, given];
      const { text, names } = textNow(expand(given), process.env);
      if (names.length > 0)
        note(
          key,
          `${names.join(", ")} ${text === undefined ? "is not set here: write the value" : "has the value of this moment"}`,
        );
      return [key, text ?? given];
    }),
  );
}

function importProgram(
  { values, from }: Section,
  { name, common }: { readonly name: string; readonly common: Common },
  configuration: ConfigurationDraft,
): void {
  const draft = configuration.add(name || "program", from.shownAs);
  const note = (field: string, advice: string): void => void draft.note(field, advice);
  const group = common.groups.get(name);
  const single = { ...DAEMON, name, group: group ?? name, here: dirname(from.file), variables: common.variables };
  const fields = new ForeignFields(valuesNow(values, expandedBy(single), note), note);
  const numberOf = (field: string): number | string | undefined => {
    const variable = ONE_VARIABLE.exec(fields.text(field)?.trim() ?? "")?.[1];
    if (variable === undefined) return fields.number(field);
    const given = ownMember(common.variables, variable);
    if (given !== undefined) return Number(textNow(given, process.env).text);
    return process.env[variable] === undefined ? undefined : `\${${variable}}`;
  };
  const command = fields.text("command");
  const expansion = instancesOf(single, { fields, draft, numberOf, values });
  const expand = expandedBy(expansion, (what) =>
    note("expressions", `${what} is unknown to this import: write its value`),
  );
  const program: SupervisordProgram = { draft, fields, configuration, folder: common.folder, expand, numberOf };
  if (group !== undefined) draft.set("groups", [idOf(group)]);
  const assignments = fillProgram(program, common);
  const line = command === undefined ? undefined : commandLine(program, command, assignments);
  fields.rest(PROGRAM_ADVICE, "supervisord");
  if (line === undefined)
    return configuration.drop(
      draft,
      "command",
      command === undefined ? "is missing, so there is nothing to run" : "can't be split into words",
    );
  draft.set("cmd", line);
}

/** `numprocs`: a cluster. */
function instancesOf(
  single: Expansion,
  {
    fields,
    draft,
    numberOf,
    values,
  }: Pick<SupervisordProgram, "fields" | "draft" | "numberOf"> & Pick<Section, "values">,
): Expansion {
  const instances = numberOf("numprocs") ?? 1;
  if (fields.has("numprocs") && ONE_VARIABLE.test(values.numprocs?.trim() ?? "") && instances === 1)
    draft.note("numprocs", `${values.numprocs} is not set here, so there is one instance: write the number`);
  const start = fields.number("numprocs_start") ?? 0;
  const isCluster = typeof instances === "string" || instances > 1;
  const startPort = isCluster ? instanceNumber.port(Object.values(values).join("\n"), start) : undefined;
  if (isCluster)
    draft.set("cluster", {
      instances,
      ...(startPort !== undefined && { startPort, portVariable: "PROCMAN_CLUSTER_PORT" }),
    });
  // Of a reference only that there may be several is known.
  return { ...single, count: isCluster ? Number(instances) || 2 : 1, start, startPort };
}

/** `assignments`: variables that only a shell can set. The shell becomes the program, which gets the signals itself. */
function commandLine(
  { draft, expand }: SupervisordProgram,
  command: string,
  assignments: readonly string[],
): string | undefined {
  try {
    const text = expand(command);
    const words = splitText(text, (plain) => splitWords(plain, { ofPlain: splitVariables, escaped: OF_PYTHON }))
      .map((word) => shellWord(word.map(unsplitNumber)))
      .join(" ");
    if (assignments.length > 0) return `exec env ${assignments.join(" ")} ${words}`;
    return isRough(text) ? `exec ${words}` : words;
  } catch (error) {
    if (!(error instanceof UnclosedQuote)) throw error;
    draft.note("command", error.message);
    return undefined;
  }
}

/** The value of a variable outside of quotes may be several words; the number of an instance is none. */
function unsplitNumber(piece: ForeignText[number]): ForeignText[number] {
  return typeof piece === "string" || isOfEnvironment(piece) ? piece : { ...piece, isSplit: false };
}

/** Only a shell has the number of an instance in this form. */
function isRough(text: ForeignText): boolean {
  return text.some((piece) => typeof piece !== "string" && piece.isRough === true);
}

/** The variables that only a shell can set, as words of its command line. */
function fillProgram(program: SupervisordProgram, common: Common): readonly string[] {
  const { draft, fields, configuration, expand } = program;
  const own = environmentIn(fields.text("environment") ?? "", expand, (advice) => draft.note("environment", advice));
  const directory = withOwn(expand(fields.text("directory") ?? "."), own);
  const cwd = configuration.path(common.folder, envValue(directory));
  if (cwd !== ".") draft.set("cwd", cwd);
  draft.set("autostart", fields.flag("autostart") ?? true).set("stdin", true);
  programRestarts(program);
  programStops(program);
  const rough = Object.entries(own).filter(([, text]) => isRough(text));
  const { PATH: path = common.variables.PATH, ...exact } = Object.fromEntries(
    Object.entries(own).filter(([, text]) => !isRough(text)),
  );
  for (const [name, text] of Object.entries(exact)) draft.merge("env", { [name]: envValue(text) });
  if (path !== undefined) draft.setAll(pathFields(envValue(path)));
  const user = fields.text("user");
  if (user !== undefined)
    draft
      .set("user", user)
      .set("inheritEnv", true)
      .note("user", "HOME, USER and LOGNAME are those of the user; with supervisord they stay as they are");
  const umask = fields.text("umask") ?? common.umask;
  if (umask !== undefined) draft.set("umask", umask.padStart(3, "0"));
  programOutput(program, exact);
  return rough.map(([name, text]) => `${name}=${shellWord(text)}`);
}

/** What to do about fields of a program without an equal. */
const PROGRAM_ADVICE: AdviceTable = {
  process_name: "",
  priority: "",
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
  silent: "",
  childlogdir: "",
  strip_ansi: "procman stores output as it is; `procman logs` leaves colors out where they aren't wanted",
  nocleanup: "",
  identifier: "",
  minfds: '"ulimits": { "nofile": … } of the processes that need it',
  minprocs: '"ulimits": { "nproc": … } of the processes that need it',
  user: "start procman as this user",
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
