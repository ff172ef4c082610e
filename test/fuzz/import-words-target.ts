/**
 * Random command lines and variables, read by the real parsers of supervisord and pm2, where they are installed, and
 * imported: the shell that procman starts sees the same words, and the program the same variables.
 */
import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parse } from "jsonc-parser";
import { importFiles } from "../../src/satellites/import/importer.ts";
import { ROOT } from "../support/product.ts";
import type { SeededRandom } from "../support/seeded-random.ts";
import { withFiles } from "./file-set.ts";
import { type FuzzTarget, whole } from "./fuzz-target.ts";

type Words = { readonly kind: "pm2" | "supervisord"; readonly text: string; readonly variables: string };
type Answer = { readonly words: readonly string[]; readonly env?: Readonly<Record<string, string>> };

const PIECES = [
  "a",
  "bc",
  " ",
  "  ",
  '"',
  "'",
  "\\",
  "$X",
  "${Y}",
  "`z`",
  "*",
  "#",
  " #",
  ";",
  " ;",
  "=",
  "-",
  "%%",
  "|",
  "&",
];
const VALUES = ["a", "b c", '"', "'", "\\", "$X", "${Y}", ",", "=", ";", "#", "%%", "/x.y-z:1", "é"];
const PYTHON = "/usr/bin/python3";
/** Reads a configuration a line, as JSON, and answers with what supervisord would start; null: it refuses the file. */
const READER = `
import io, json, shlex, sys
from supervisor.options import ServerOptions
for line in sys.stdin:
    try:
        options = ServerOptions()
        options.here = "/"
        program = options.read_config(io.StringIO(json.loads(line))).process_group_configs[0].process_configs[0]
        print(json.dumps({"words": shlex.split(program.command), "env": program.environment}), flush=True)
    except ValueError:
        print("null", flush=True)
`;

function hasSupervisor(): boolean {
  if (!existsSync(PYTHON)) return false;
  return spawnSync(PYTHON, ["-c", "import supervisor.options"]).status === 0;
}

/** The parser of supervisord in a process of its own. */
class SupervisordReader {
  readonly #child: ChildProcessWithoutNullStreams = spawn(PYTHON, ["-c", READER]);
  readonly #lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();

  async read(text: string): Promise<Answer | null> {
    this.#child.stdin.write(`${JSON.stringify(text)}\n`);
    const { value } = await this.#lines.next();
    return JSON.parse(String(value)) as Answer | null;
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    await once(this.#child, "exit");
  }
}

type Pm2Reader = { validateJSON(app: object): { readonly config: { readonly args: readonly string[] } } };

function pm2Reader(): Pm2Reader | undefined {
  const file = join(ROOT, ".cache/peers/pm2/node_modules/pm2/lib/tools/Config.js");
  return existsSync(file) ? (createRequire(import.meta.url)(file) as Pm2Reader) : undefined;
}

function textOf(pieces: readonly string[], random: SeededRandom): string {
  return Array.from({ length: whole(random, 9) }, () => random.of(pieces)).join("");
}

/** `A="…",B='…'`, mostly in quotes that close. */
function variablesOf(random: SeededRandom): string {
  return Array.from({ length: whole(random, 4) }, (_, index) => {
    const quote = random.of(['"', '"', "'", ""]);
    const value = textOf(VALUES, random).replaceAll(quote === "" ? "\n" : quote, "");
    return `V${index}=${quote}${value}${quote}`;
  }).join(",");
}

/** What the shell of procman makes of the line: the program is a function that prints its arguments. */
function wordsOf(line: string): readonly string[] {
  const program = line.split(" ", 1)[0] ?? "";
  const text = `${program}() { for word do printf '%s\\0' "$word"; done; }\n${line}`;
  const out = execFileSync("/bin/sh", ["-c", text], { encoding: "utf8" });
  return out.split("\0").slice(0, -1);
}

/** Imports the file; null: its program is left out. */
async function imported(name: string, text: string): Promise<Answer | null> {
  return withFiles({ [name]: Buffer.from(text) }, async (folder) => {
    const { text: result } = await importFiles([name], { file: join(folder, "procman.jsonc"), cwd: folder });
    const { processes } = parse(result) as {
      readonly processes: readonly { readonly cmd: string; readonly env?: Readonly<Record<string, string | number>> }[];
    };
    const [process] = processes;
    if (process === undefined) return null;
    const env = Object.entries(process.env ?? {}).map(([key, value]) => [
      key,
      String(value).replaceAll("$${", () => "${"),
    ]);
    return { words: wordsOf(process.cmd), env: Object.fromEntries(env) as Readonly<Record<string, string>> };
  });
}

export async function openImportWords(): Promise<FuzzTarget> {
  const [pm2, supervisord] = [pm2Reader(), hasSupervisor() ? new SupervisordReader() : undefined];
  const kinds: readonly Words["kind"][] = [
    ...(pm2 === undefined ? [] : (["pm2"] as const)),
    ...(supervisord === undefined ? [] : (["supervisord"] as const)),
  ];
  const checkPm2 = async ({ text }: Words): Promise<void> => {
    const theirs = pm2?.validateJSON({ script: "web.js", args: text }).config.args ?? [];
    const ours = await imported("ecosystem.json", JSON.stringify({ apps: [{ script: "web.js", args: text }] }));
    assert.deepEqual(ours?.words.slice(1), theirs, text);
  };
  const checkSupervisord = async ({ text, variables }: Words): Promise<void> => {
    const file = `[supervisord]\n[program:web]\ncommand=serve ${text}\nenvironment=${variables}\n`;
    const theirs = (await supervisord?.read(file)) ?? null;
    // What it refuses can't be a file of anybody.
    if (theirs === null) return;
    const ours = await imported("supervisord.conf", file);
    assert.deepEqual(ours?.words, theirs.words.slice(1), file);
    // supervisord takes any name.
    const named = Object.entries(theirs.env ?? {}).filter(([name]) => /^[A-Za-z_]\w*$/.test(name));
    assert.deepEqual(ours?.env, Object.fromEntries(named), file);
  };
  return {
    input: (random) =>
      Buffer.from(
        JSON.stringify({ kind: random.of(kinds), text: textOf(PIECES, random), variables: variablesOf(random) }),
      ),
    check: async (given) => {
      const words = JSON.parse(given.toString("utf8")) as Words;
      if (words.kind === "pm2") await checkPm2(words);
      else if (words.kind === "supervisord") await checkSupervisord(words);
    },
    close: async () => supervisord?.close(),
  };
}
