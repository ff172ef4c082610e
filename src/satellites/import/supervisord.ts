/** Programs of supervisord. */
import { hostname } from "node:os";
import { dirname } from "node:path";
import { ownMember } from "../../core/base/interpolate.ts";
import { type ConfigurationDraft, idOf } from "./configuration-draft.ts";
import { ForeignFields } from "./foreign-fields.ts";
import { envValue, shellWord, splitText } from "./foreign-text.ts";
import { type IniSection, readIni } from "./ini-file.ts";
import { splitWords, UnclosedQuote } from "./shell-words.ts";
import type { ForeignFile } from "./source-file.ts";
import { PROGRAM_ADVICE, SECTION_ADVICE, SUPERVISORD_ADVICE } from "./supervisord-advice.ts";
import { environmentIn } from "./supervisord-environment.ts";
import { type Expansion, expandedBy, instanceNumber } from "./supervisord-expansions.ts";
import { outputFiles } from "./supervisord-output.ts";
import type { SupervisordProgram } from "./supervisord-program.ts";

/** Reads the files that `[include]` names. */
export type ReadIncluded = (pattern: string, folder: string) => readonly ForeignFile[];

type Section = IniSection & { readonly from: ForeignFile };

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
        configuration.note(`[${section.name}]`, advice ?? "supervisord has no such section, or it is unknown to this import");
    }
  }
  for (const section of sections.filter(({ name }) => name.startsWith("group:"))) importGroup(section, configuration);
}

function withIncludes(main: ForeignFile, configuration: ConfigurationDraft, included: ReadIncluded): readonly Section[] {
  const own = readIni(main.text).map((section) => ({ ...section, from: main }));
  const patterns = own.filter(({ name }) => name === "include").flatMap(({ values }) => (values.files ?? "").split(/\s+/).filter(Boolean));
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
  const env = environmentIn(fields.text("environment") ?? "", expand, (advice) => configuration.note("[supervisord] environment", advice));
  if (Object.keys(env).length > 0) configuration.merge("env", env);
  fields.rest(SUPERVISORD_ADVICE, "supervisord");
}

function importGroup({ name, values }: Section, configuration: ConfigurationDraft): void {
  const group = idOf(name.slice("group:".length));
  const programs = (values.programs ?? "").split(",").map((each) => each.trim());
  for (const draft of configuration.processes)
    if (programs.includes(draft.name)) draft.set("groups", [...((draft.fields.groups as string[] | undefined) ?? []), group]);
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
  const expand = expandedBy(expansion, (what) => draft.note("expressions", `${what} is unknown to this import: write its value`));
  // supervisord resolves paths from the folder in which it is started.
  const place = (text: string): string => configuration.path(configuration.folder, envValue(expand(text)));
  if (count > 1)
    draft.set("cluster", { instances: count, ...(startPort !== undefined && { startPort, portVariable: "PROCMAN_CLUSTER_PORT" }) });
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
  if (codes !== undefined && !codes.includes(0)) draft.note("exitcodes", "0 is not among them; in procman it always counts as success");
  const uptime = fields.number("startsecs");
  if (uptime !== undefined) draft.set("minUptimeMs", uptime * 1_000);
  draft.set("restartLimit", fields.number("startretries"));
}

function stopsOf({ draft, fields }: SupervisordProgram): void {
  const signal = fields.text("stopsignal")?.toUpperCase().replace(/^SIG/, "");
  if (signal === "KILL") draft.set("terminateTimeout", 0).note("stopsignal", "KILL: it gets SIGTERM, and SIGKILL at once");
  else if (signal !== undefined && signal !== "TERM") draft.set("stopSignal", `SIG${signal}`);
  const wait = fields.number("stopwaitsecs");
  if (signal !== "KILL") draft.set("terminateTimeout", wait);
  const reachesGroup = fields.flag("stopasgroup") === true;
  if (!reachesGroup) draft.set("killMode", "leader");
  fields.skip("killasgroup");
}
