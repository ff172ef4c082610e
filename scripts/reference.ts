/** Writes the tables of the docs, and the list of man pages, that follow from tables of the source. With --check: fails when one is not up to date. */
import { COMMANDS, type CommandName, GROUPS } from "../src/cli/commands.ts";
import { ERROR_MEANINGS, ERRORS, type ErrorCode, EXIT, EXIT_MEANINGS } from "../src/core/base/errors.ts";
import { EVENT_MEANINGS } from "../src/core/contract/event-record.ts";
import { STATUS_MEANINGS } from "../src/core/contract/records.ts";
import { argumentsOf, definedCommands, descriptionOf, optionsOf, type Row, usagesOf } from "./command-tables.ts";
import { allowedValues, objectsOf } from "./configuration.ts";
import { jsonReference } from "./json-reference.ts";
import { inPage, tableOf, writeMade } from "./made-parts.ts";
import { manual } from "./manual.ts";
import { metricFamilies } from "./metric-families.ts";

const SCRIPT = "scripts/reference.ts";

const defined = await definedCommands();
const pages = await manual();

const code = (text: string): string => `\`${text}\``;

/** Characters of running text that Markdown would take as its own; text between backquotes stays. */
function plain(text: string): string {
  return text
    .split("`")
    .map((part, index) => (index % 2 === 1 ? code(part) : part.replaceAll(/[\\*[\]<]/g, "\\$&")))
    .join("");
}

function rowsOf(rows: readonly Row[]): readonly (readonly string[])[] {
  return rows.map(([term, meaning]) => [code(term), plain(meaning)]);
}

function exitCodes(): string {
  const rows = Object.entries(EXIT).map(([name, number]) => [String(number), EXIT_MEANINGS[name as keyof typeof EXIT]]);
  return tableOf(["code", "meaning"], rows);
}

function errors(): string {
  const rows = Object.entries(ERRORS).map(([name, { status, exit }]) => [
    code(name),
    String(status),
    String(exit),
    ERROR_MEANINGS[name as ErrorCode],
  ]);
  return tableOf(["`code`", "HTTP", "exit code", ""], rows);
}

function states(): string {
  return tableOf(
    ["state", "meaning", "next"],
    Object.entries(STATUS_MEANINGS).map(([name, [meaning, next]]) => [code(name), meaning, next]),
  );
}

function events(): string {
  return tableOf(
    ["type", ""],
    Object.entries(EVENT_MEANINGS).map(([type, meaning]) => [code(type), meaning]),
  );
}

function metrics(): string {
  const rows = metricFamilies().map(({ name, type, help, labels }) => [
    code(name),
    type,
    labels.map(code).join(", "),
    help,
  ]);
  return tableOf(["metric", "type", "labels", ""], rows);
}

function fields(): string {
  const parts = objectsOf().map(([path, { properties = {}, required = [] }]) => {
    const rows = Object.entries(properties).map(([name, schema]) => [
      code(name),
      plain(allowedValues(schema)),
      required.includes(name) ? "required" : schema.default === undefined ? "" : code(JSON.stringify(schema.default)),
      plain(schema.description ?? ""),
    ]);
    return `## ${path
      .split(", ")
      .map((each) => (each.includes(" ") ? each : code(each)))
      .join(", ")}\n\n${tableOf(["field", "allowed", "default", ""], rows)}`;
  });
  return parts.join("\n\n");
}

function commands(): string {
  const parts = GROUPS.map(({ title, commands: group }) => {
    const own = defined.filter((command) => command.name() in group);
    return [`## ${title}`, ...own.map(commandPart)].join("\n\n");
  });
  return parts.join("\n\n");
}

function commandPart(command: (typeof defined)[number]): string {
  const examples = COMMANDS[command.name() as CommandName].examples.map((example) => code(`procman ${example}`));
  return [
    `### procman ${command.name()}`,
    usagesOf(command)
      .map(([name, usage]) => code(`${name} ${usage}`))
      .join("<br>"),
    plain(descriptionOf(command)),
    ...termTable(command),
    ...command.commands.flatMap((each) => [
      `${code(`${command.name()} ${each.name()}`)}: ${plain(descriptionOf(each))}`,
      ...termTable(each),
    ]),
    `${examples.length === 1 ? "Example" : "Examples"}: ${examples.join(", ")}`,
  ].join("\n\n");
}

function termTable(command: (typeof defined)[number]): readonly string[] {
  const rows = rowsOf([...argumentsOf(command), ...optionsOf(command)]);
  return rows.length === 0 ? [] : [tableOf(["argument, option", ""], rows)];
}

/** npm links the man pages that `man` lists, and reads no folder. */
function withManPages(packageJson: string): string {
  const man = pages.map(({ name, section }) => `dist/man/${name}.${section}`);
  return `${JSON.stringify({ ...JSON.parse(packageJson), man }, null, 2)}\n`;
}

writeMade(SCRIPT, {
  "package.json": withManPages,
  "docs/reference/cli.md": inPage(SCRIPT, exitCodes()),
  "docs/reference/commands.md": inPage(SCRIPT, commands()),
  "docs/reference/fields.md": inPage(SCRIPT, fields()),
  "docs/reference/json.md": inPage(SCRIPT, jsonReference()),
  "docs/reference/api.md": (text) => inPage(SCRIPT, errors(), "errors")(inPage(SCRIPT, events(), "events")(text)),
  "docs/reference/metrics.md": inPage(SCRIPT, metrics()),
  "docs/guide/supervision.md": inPage(SCRIPT, states()),
});
