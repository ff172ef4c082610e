/** The man pages: made of the tables of commands and their options, of exit codes, and of the fields of the configuration. */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import { EXIT, EXIT_MEANINGS } from "../src/base/errors.ts";
import type { JsonSchema } from "../src/base/schema.ts";
import { COMMANDS, isCommand } from "../src/cli/commands.ts";
import { EXAMPLES } from "../src/cli/examples.ts";
import { type CommandName, GROUPS, SUMMARIES } from "../src/cli/overview.ts";
import { fieldsOf } from "./configuration.ts";
import { bold, literal, type ManPage, type ManSection, prose, tagged } from "./roff.ts";

const FURTHER = prose("The package has further pages; its `README.md` names them.");

const FILES: readonly (readonly [string, string])[] = [
  ["procman.jsonc, procman.json", "The configuration, in this folder or the nearest above; see `procman.json(5)`."],
  [".procman/NAME/", "The state folder of the configuration with this name, beside its file: secret of the API, stored output, journal."],
];

const VARIABLES: readonly (readonly [string, string])[] = [
  ["PROCMAN_CONFIG", "The configuration file, or its folder, for commands without `--config`."],
  ["PROCMAN_STATE_DIR", "The folder in which state folders are, instead of `.procman` beside the configuration file."],
  ["PROCMAN_SSH", "The ssh program for `--host`, and its first arguments."],
  ["NO_COLOR", "If it is not empty, nothing is printed in colours."],
];

/** All pages, `procman(1)` first. */
export async function manual(): Promise<readonly ManPage[]> {
  const names = Object.keys(COMMANDS).filter(isCommand);
  return [overviewPage(), ...(await Promise.all(names.map(commandPage))), configurationPage()];
}

function overviewPage(): ManPage {
  const commands = GROUPS.map(({ title, commands: group }): ManSection => {
    const rows = Object.entries(group).flatMap(([name, summary]) => tagged(isCommand(name) ? `procman-${name}(1)` : name, `${summary}.`));
    return [title, rows];
  });
  return {
    name: "procman",
    section: 1,
    summary: "starts, supervises, restarts, stops and logs processes",
    sections: [
      ["SYNOPSIS", [`${bold("procman")} \\fICOMMAND\\fR [\\fIoptions\\fR]`]],
      [
        "DESCRIPTION",
        [
          prose("procman runs the processes of one JSON file. Begin with `procman init`, which creates that file, and `procman run`."),
          ".PP",
          prose(
            "Each part of procman may be killed or replaced: it comes back by itself, and the processes keep running, with the same pids.",
          ),
        ],
      ],
      ["COMMANDS", [prose("Each has a page, and help by `procman help COMMAND`.")]],
      ...commands,
      ["EXIT STATUS", exitStatus()],
      ["ENVIRONMENT", VARIABLES.flatMap((row) => tagged(...row))],
      ["FILES", FILES.flatMap((row) => tagged(...row))],
      [
        "EXAMPLES",
        literal(['procman init --id web --cmd "node server.js"', "procman run --detach", "procman status", "procman logs web -f"]),
      ],
      ["SEE ALSO", [`${bold("procman.json")}(5)`, ".PP", FURTHER]],
    ],
  };
}

function exitStatus(): readonly string[] {
  return Object.entries(EXIT).flatMap(([name, code]) => tagged(String(code), `${EXIT_MEANINGS[name as keyof typeof EXIT]}.`));
}

async function commandPage(name: CommandName): Promise<ManPage> {
  const program = new Command("procman");
  (await COMMANDS[name]()).define(program);
  const command = program.commands.find((each) => each.name() === name) as Command;
  return {
    name: `procman-${name}`,
    section: 1,
    summary: lowerFirst(SUMMARIES[name] ?? ""),
    sections: [
      ["SYNOPSIS", [command, ...command.commands].filter((each) => each.commands.length === 0).flatMap(synopsis)],
      ["DESCRIPTION", [prose(command.description())]],
      ...listed("ARGUMENTS", command, argumentsOf),
      ...listed("OPTIONS", command, optionsOf),
      ...command.commands.flatMap((each): ManSection[] => [
        [
          `${name} ${each.name()}`,
          [prose(each.description() || `${upperFirst(each.summary())}.`), ...argumentsOf(each), ...optionsOf(each)],
        ],
      ]),
      ["EXAMPLES", literal(EXAMPLES[name].map((example) => `procman ${example}`))],
      ["SEE ALSO", [seeAlso(name)]],
    ],
  };
}

function synopsis(command: Command, index: number): readonly string[] {
  const parents = [command.parent?.name() === "procman" ? undefined : command.parent?.name(), command.name()];
  const name = ["procman", ...parents].filter((word) => word !== undefined).join(" ");
  return [...(index === 0 ? [] : [".br"]), `${bold(name)} ${prose(command.usage())}`];
}

/** The part, if it has lines. */
function listed(heading: string, command: Command, linesOf: (command: Command) => readonly string[]): readonly ManSection[] {
  const lines = linesOf(command);
  return lines.length === 0 ? [] : [[heading, lines]];
}

function argumentsOf(command: Command): readonly string[] {
  const help = command.createHelp();
  return command.registeredArguments.flatMap((argument) => tagged(help.argumentTerm(argument), help.argumentDescription(argument)));
}

function optionsOf(command: Command): readonly string[] {
  const help = command.createHelp();
  return command.options
    .filter(({ hidden }) => !hidden)
    .flatMap((option) => tagged(help.optionTerm(option), help.optionDescription(option)));
}

/** The other commands of its group. */
function seeAlso(name: CommandName): string {
  const { commands } = GROUPS.find((group) => name in group.commands) ?? { commands: {} };
  const others = Object.keys(commands).filter((other) => isCommand(other) && other !== name);
  return [`${bold("procman")}(1)`, ...others.map((other) => `${bold(`procman-${other}`)}(1)`), `${bold("procman.json")}(5)`].join(",\n");
}

function configurationPage(): ManPage {
  return {
    name: "procman.json",
    section: 5,
    summary: "configuration of procman",
    sections: [
      ["SYNOPSIS", [[bold("procman.jsonc"), bold("procman.json")].join(",\n")]],
      [
        "DESCRIPTION",
        [
          prose("JSON with comments and trailing commas, in UTF-8. Relative paths resolve from the folder of the file."),
          prose("`procman validate` checks it, `procman plan` shows what a changed file would do, `procman reload` applies it."),
          prose('An unknown field is an error. A number or boolean may be a reference to a variable, as `"${WORKERS:-2}"`.'),
        ],
      ],
      ["FIELDS", [prose("Of the whole file, then of each object in it; [] stands for each entry of a list.")]],
      ...objectsOf().map(([heading, schema]): ManSection => [heading, fieldLines(schema)]),
      ["EXAMPLES", literal(example())],
      [
        "SEE ALSO",
        [[`${bold("procman")}(1)`, `${bold("procman-validate")}(1)`, `${bold("procman-schema")}(1)`].join(",\n"), ".PP", FURTHER],
      ],
    ],
  };
}

/** Objects with fields, by their paths; equal ones once. */
function objectsOf(): readonly (readonly [string, JsonSchema])[] {
  const objects = new Map<string, [string, JsonSchema]>();
  for (const [path, schema] of fieldsOf())
    for (const each of [schema, ...(schema.anyOf ?? [])].filter(({ properties }) => properties !== undefined)) {
      const key = JSON.stringify(each.properties);
      const known = objects.get(key);
      if (known === undefined) objects.set(key, [path || "The file", each]);
      else if (!known[0].split(", ").includes(path)) known[0] += `, ${path}`;
    }
  return [...objects.values()];
}

function fieldLines({ properties = {}, required = [] }: JsonSchema): readonly string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const standard = schema.default === undefined ? "" : ` Default: \`${JSON.stringify(schema.default)}\`.`;
    return tagged(
      name,
      `${schema.description ?? ""}${required.includes(name) ? " Required." : ""}`,
      `Allowed: ${valuesOf(schema)}.${standard}`,
    );
  });
}

function valuesOf({ allowed, enum: words, const: only, anyOf = [], type, properties }: JsonSchema): string {
  if (allowed !== undefined) return allowed;
  if (words !== undefined) return words.map((word) => JSON.stringify(word)).join(", ");
  if (only !== undefined) return JSON.stringify(only);
  if (anyOf.length > 0) return anyOf.map(valuesOf).join(" or ");
  return properties === undefined ? (type ?? "any value") : `an object with ${Object.keys(properties).join(", ")}`;
}

/** The first one of the page, which a test runs. */
function example(): readonly string[] {
  const page = readFileSync(new URL("../docs/configuration.md", import.meta.url), "utf8");
  const [, text] = /^```jsonc\n([\s\S]*?)\n```$/m.exec(page) ?? [];
  if (text === undefined) throw new Error("docs/configuration.md begins with no example");
  return text.split("\n");
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

function upperFirst(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
