/** The command line that pm2 makes of `script`, `interpreter` and `args`. */
import { closeSync, openSync, readSync } from "node:fs";
import { homedir } from "node:os";
import { extname, join, resolve } from "node:path";
import { ownMember } from "../../core/base/interpolate.ts";
import { shellQuote } from "../../core/base/shell-quote.ts";
import { statIfSeen } from "../../core/os/files.ts";
import type { ForeignFields } from "./foreign-fields.ts";
import { bashLine } from "./shell-words.ts";

export type Pm2Command = {
  readonly line: string;
  readonly isNode: boolean;
  readonly env: Readonly<Record<string, string>>;
};

const INTERPRETERS: Readonly<Record<string, string>> = {
  ".sh": "bash",
  ".py": "python",
  ".rb": "ruby",
  ".php": "php",
  ".pl": "perl",
  ".js": "node",
  ".cjs": "node",
  ".mjs": "node",
  ".coffee": "coffee",
  ".ls": "lsc",
  ".ts": "bun",
  ".tsx": "bun",
};

/** As pm2 splits a text of arguments. */
const ARGUMENT = /[^\s"'=]+="[^"]*"|[^\s"'=]+='[^']*'|"([^"]*)"|'([^']*)'|\S+/g;

export function appCommand(fields: ForeignFields, script: string, cwd: string): Pm2Command {
  const given = fields.text("exec_interpreter", "interpreter");
  const flags = argumentsOf(fields.any("node_args", "interpreterArgs", "interpreter_args"));
  const args = argumentsOf(fields.any("args"));
  // pm2 gives a script with blanks to bash as a whole, and forgets interpreter and arguments.
  if (script.includes(" ")) return { line: bashLine(script), isNode: false, env: {} };
  const isHere = statIfSeen(resolve(cwd, script))?.isFile() === true;
  const interpreter = versioned(given, fields) ?? interpreterOf(script, resolve(cwd, script), isHere);
  const program =
    interpreter === "none"
      ? [isHere && !script.includes("/") ? `./${script}` : script]
      : [interpreter, ...flags, script];
  return {
    line: [...program, ...args].map(shellQuote).join(" "),
    isNode: /(^|\/)(node|bun)(@|$)/.test(interpreter),
    env: interpreter.includes("python") ? { PYTHONUNBUFFERED: "1" } : {},
  };
}

/** `node@20.20.2`: that of nvm. In cluster mode pm2 uses the Node by which it runs. */
function versioned(given: string | undefined, fields: ForeignFields): string | undefined {
  const [, version] = /^node@v?(.+)$/.exec(given ?? "") ?? [];
  if (version === undefined) return given;
  const folder = process.env.NVM_DIR ?? join(homedir(), ".nvm");
  const path = join(folder, "versions/node", `v${version}`, "bin/node");
  if (statIfSeen(path)?.isFile() === true) return path;
  fields.note(
    "interpreter",
    `${given}: there is no ${path}, so it runs by the "node" in PATH; write the path of that version`,
  );
  return "node";
}

function argumentsOf(given: unknown): readonly string[] {
  if (Array.isArray(given)) return given.filter((each) => each !== null && typeof each !== "object").map(String);
  if (typeof given !== "string") return [];
  // A quote that stands alone is no argument.
  return (given.match(ARGUMENT) ?? [])
    .map((word) => (/^(?:".*"|'.*'|["'])$/s.test(word) ? word.slice(1, -1) : word))
    .filter((word) => word.trim() !== "");
}

/** "none": the program runs by itself. A program without a known ending is run by Node if it is a text. */
function interpreterOf(script: string, path: string, isHere: boolean): string {
  const known = ownMember(INTERPRETERS, extname(script));
  if (known === "python") return isOnPath("python") ? known : "python3";
  if (known === "bun") return isOnPath(known) ? known : "node";
  if (known !== undefined) return known;
  return isHere && /^(?!\x7fELF|#!(?!.*\bnode\b))/.test(beginningOf(path, 80).split("\n")[0] ?? "") ? "node" : "none";
}

/** The first `bytes` of a file. */
export function beginningOf(path: string, bytes: number): string {
  const buffer = Buffer.alloc(bytes);
  const file = openSync(path, "r");
  try {
    return buffer.toString("latin1", 0, readSync(file, buffer));
  } finally {
    closeSync(file);
  }
}

export function isOnPath(program: string): boolean {
  return (process.env.PATH ?? "")
    .split(":")
    .some((folder) => folder !== "" && statIfSeen(join(folder, program))?.isFile() === true);
}
