/** The man pages: made of the tables of commands and their options, of exit codes, and of the fields of the configuration. */
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { COMMANDS, type CommandName, GROUPS, isCommand } from "../src/cli/commands.ts";
import { EXIT, EXIT_MEANINGS } from "../src/core/base/errors.ts";
import type { JsonSchema } from "../src/core/base/schema.ts";
import {
  argumentsOf,
  definedCommands,
  descriptionOf,
  optionsOf,
  type Row,
  type Usage,
  usagesOf,
} from "./command-tables.ts";
import { allowedValues, objectsOf } from "./configuration.ts";
import { bold, literal, type ManPage, type ManSection, prose, tagged } from "./roff.ts";

const FURTHER = prose("The package has further pages; its `README.md` names them.");

const FILES: readonly (readonly [string, string])[] = [
  ["procman.jsonc, procman.json", "The configuration, in this folder or the nearest above; see `procman.json(5)`."],
  [
    ".procman/NAME/",
    "The state folder of the configuration with this name, beside its file: secret of the API, stored output, journal.",
  ],
];

export const VARIABLES: readonly (readonly [string, string])[] = [
  ["PROCMAN_CONFIG", "The configuration file, or its folder, for commands without `--config`."],
  ["PROCMAN_STATE_DIR", "The folder in which state folders are, instead of `.procman` beside the configuration file."],
  ["PROCMAN_SSH", "The ssh program for `--host`, and its first arguments."],
  ["PROCMAN_CGROUPS", "`1`: procman may divide the cgroup that it runs in, so that each run gets a separate one."],
  ["NO_COLOR", "If it is not empty, nothing is printed in color."],
];

/** All pages, `procman(1)` first. */
export async function manual(): Promise<readonly ManPage[]> {
  return [overviewPage(), ...(await definedCommands()).map(commandPage), configurationPage()];
}

function overviewPage(): ManPage {
  const commands = GROUPS.map(({ title, commands: group }): ManSection => {
    const rows = Object.entries(group).flatMap(([name, { summary }]) =>
      tagged(isCommand(name) ? `procman-${name}(1)` : name, `${summary}.`),
    );
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
          prose(
            "procman runs the processes of one JSON file. Begin with `procman init`, which creates that file, and `procman run`.",
          ),
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
        literal([
          'procman init --id web --cmd "node server.js"',
          "procman run --detach",
          "procman status",
          "procman logs web -f",
        ]),
      ],
      ["SEE ALSO", [`${bold("procman.json")}(5)`, ".PP", FURTHER]],
    ],
  };
}

function exitStatus(): readonly string[] {
  return Object.entries(EXIT).flatMap(([name, code]) =>
    tagged(String(code), `${EXIT_MEANINGS[name as keyof typeof EXIT]}.`),
  );
}

function commandPage(command: Command): ManPage {
  const name = command.name() as CommandName;
  const { summary, examples } = COMMANDS[name];
  return {
    name: `procman-${name}`,
    section: 1,
    summary: lowerFirst(summary),
    sections: [
      ["SYNOPSIS", usagesOf(command).flatMap(synopsis)],
      ["DESCRIPTION", [prose(descriptionOf(command))]],
      ...listed("ARGUMENTS", argumentsOf(command)),
      ...listed("OPTIONS", optionsOf(command)),
      ...command.commands.map(
        (each): ManSection => [
          `${name} ${each.name()}`,
          [prose(descriptionOf(each)), ...taggedRows([...argumentsOf(each), ...optionsOf(each)])],
        ],
      ),
      ["EXAMPLES", literal(examples.map((example) => `procman ${example}`))],
      ["SEE ALSO", [seeAlso(name)]],
    ],
  };
}

function synopsis([name, usage]: Usage, index: number): readonly string[] {
  return [...(index === 0 ? [] : [".br"]), `${bold(name)} ${prose(usage)}`];
}

/** The part, if it has lines. */
function listed(heading: string, rows: readonly Row[]): readonly ManSection[] {
  return rows.length === 0 ? [] : [[heading, taggedRows(rows)]];
}

function taggedRows(rows: readonly Row[]): readonly string[] {
  return rows.flatMap(([tag, text]) => tagged(tag, text));
}

/** The other commands of its group. */
function seeAlso(name: CommandName): string {
  const { commands } = GROUPS.find((group) => name in group.commands) ?? { commands: {} };
  const others = Object.keys(commands).filter((other) => isCommand(other) && other !== name);
  return [
    `${bold("procman")}(1)`,
    ...others.map((other) => `${bold(`procman-${other}`)}(1)`),
    `${bold("procman.json")}(5)`,
  ].join(",\n");
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
          prose(
            "JSON with comments and trailing commas, in UTF-8. Relative paths resolve from the folder of the file.",
          ),
          prose(
            "`procman validate` checks it, `procman plan` shows what a changed file would do, `procman reload` applies it.",
          ),
          prose(
            'An unknown field is an error. A number or boolean may be a reference to a variable, as `"${WORKERS:-2}"`.',
          ),
        ],
      ],
      ["FIELDS", [prose("Of the whole file, then of each object in it; [] stands for each entry of a list.")]],
      ...objectsOf().map(([heading, schema]): ManSection => [heading, fieldLines(schema)]),
      ["EXAMPLES", literal(example())],
      [
        "SEE ALSO",
        [
          [`${bold("procman")}(1)`, `${bold("procman-validate")}(1)`, `${bold("procman-schema")}(1)`].join(",\n"),
          ".PP",
          FURTHER,
        ],
      ],
    ],
  };
}

function fieldLines({ properties = {}, required = [] }: JsonSchema): readonly string[] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const standard = schema.default === undefined ? "" : ` Default: \`${JSON.stringify(schema.default)}\`.`;
    return tagged(
      name,
      `${schema.description ?? ""}${required.includes(name) ? " Required." : ""}`,
      `Allowed: ${allowedValues(schema)}.${standard}`,
    );
  });
}

/** The first one of the page, which a test runs. */
function example(): readonly string[] {
  const page = readFileSync(new URL("../docs/reference/configuration.md", import.meta.url), "utf8");
  const [, text] = /^```jsonc\n([\s\S]*?)\n```$/m.exec(page) ?? [];
  if (text === undefined) throw new Error("docs/reference/configuration.md begins with no example");
  return text.split("\n");
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
