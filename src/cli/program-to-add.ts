/** What the words of `procman add` mean: a program, a script, a folder with `package.json`, or a script of that. */
import { existsSync, readFileSync } from "node:fs";
import { basename, extname, join, resolve } from "node:path";
import { parseCommandLine } from "../core/base/command-line.ts";
import { ProcmanError } from "../core/base/errors.ts";
import { ownMember } from "../core/base/interpolate.ts";
import { shellQuote } from "../core/base/shell-quote.ts";
import { didYouMean } from "../core/base/suggest.ts";
import { typeScriptFlags } from "../core/config/checks/command-checks.ts";
import { managerOf, nearest, packageIn, packageName, scriptsIn } from "../core/config/package-file.ts";
import { statIfSeen } from "../core/os/files.ts";
import { currentRights, isExecutable } from "../core/os/process-rights.ts";

export type ProgramToAdd = {
  readonly cmd: string;
  /** What its id is made of. */
  readonly name: string;
  /** Where it runs. */
  readonly cwd: string;
};

/** Programs whose first argument names what they run. */
const INTERPRETERS = /^(node|bun|deno|tsx|ts-node|npx|npm|pnpm|yarn|python[\d.]*|ruby|perl|php|java|sh|bash|zsh)$/;
const ASSIGNMENT = /^[A-Za-z_]\w*=/;
/** As concurrently has it. */
const PACKAGE_SCRIPT = /^(npm|pnpm|yarn|bun):(.+)$/;
const ENTRY_FILES = ["server.js", "index.js"] as const;

/** Runs scripts with this extension. undefined: the file is a program itself, or none. @throws {ProcmanError} `usage` */
type Interpreter = (script: string, cwd: string) => readonly string[];

const BY_EXTENSION: Readonly<Record<string, Interpreter>> = {
  ".js": () => ["node"],
  ".cjs": () => ["node"],
  ".mjs": () => ["node"],
  ".ts": typeScript,
  ".mts": typeScript,
  ".cts": typeScript,
  ".tsx": typeScript,
  // Without -u the output of a server comes in blocks of 8 KB.
  ".py": (_, cwd) => [pythonIn(cwd), "-u"],
  ".rb": () => ["ruby"],
  ".pl": () => ["perl"],
  ".php": () => ["php"],
  ".jar": () => ["java", "-jar"],
  ".sh": (script, cwd) => [shellOf(resolve(cwd, script))],
  ".bash": () => ["bash"],
};

/**
 * @param words one with spaces is a command line for `/bin/sh`
 * @param cwd folder in which the user has typed them
 * @throws {ProcmanError} `usage`: it can't be started
 *
 * @example
 * programToAdd(["server.js"], "/srv/shop") // { cmd: "node server.js", name: "server", cwd: "/srv/shop" }
 */
export function programToAdd(words: readonly string[], cwd: string): ProgramToAdd {
  const [line = ""] = words;
  if (words.length > 1 || statIfSeen(resolve(cwd, line)) !== undefined) return ofWords(words, cwd);
  const command = parseCommandLine(line);
  if (command.kind === "words") return ofWords(command.words, cwd, line);
  return { cmd: line, name: nameIn(line.trim().split(/\s+/)), cwd };
}

/** `line`: how the user has written the words; absent: each is an argument of its own. */
function ofWords(words: readonly string[], cwd: string, line = quoted(words)): ProgramToAdd {
  const assigned = words.findIndex((word) => !ASSIGNMENT.test(word));
  if (assigned > 0) {
    const { cmd, ...program } = ofWords(words.slice(assigned), cwd);
    return { ...program, cmd: `${quoted(words.slice(0, assigned))} ${cmd}` };
  }
  const [first = "", ...rest] = words;
  const [, manager, script] = PACKAGE_SCRIPT.exec(first) ?? [];
  if (manager !== undefined && script !== undefined) return packageScript(script, { folder: cwd, manager, rest });
  const name = nameIn(words);
  const isBare = !/[/.]/.test(first);
  if (isBare && currentRights().has(first)) return { cmd: line, name, cwd };
  const file = statIfSeen(resolve(cwd, first));
  if (file?.isDirectory() === true) return ofFolder(first, resolve(cwd, first), rest);
  if (file?.isFile() === true) return { cmd: quoted([...scriptWords(first, cwd), ...rest]), name, cwd };
  if (isBare && scriptsIn(cwd).includes(first)) return packageScript(first, { folder: cwd, rest });
  if (!first.includes("/") && currentRights().has(first)) return { cmd: line, name, cwd };
  throw noProgram(first, cwd);
}

function quoted(words: readonly string[]): string {
  return words.map(shellQuote).join(" ");
}

function noProgram(first: string, cwd: string): ProcmanError {
  const scripts = scriptsIn(cwd).map((script) => `npm:${script}`);
  const where = first.includes("/")
    ? "there is no such file"
    : "there is no such program in PATH, and no such file here";
  const known = scripts.length === 0 ? "" : `; the scripts of package.json are ${scripts.join(", ")}.`;
  return cannotAdd(
    first,
    `${where}${known}${didYouMean(
      first,
      scripts.map((each) => each.slice(4)),
    )}`,
  );
}

function cannotAdd(what: string, why: string): ProcmanError {
  return new ProcmanError("usage", `Cannot add ${JSON.stringify(what)}: ${why}`);
}

/** The words that run a file. */
function scriptWords(script: string, cwd: string): readonly string[] {
  const path = resolve(cwd, script);
  const itself = script.includes("/") ? script : `./${script}`;
  const isMeantItself = script.includes("/") || extname(script) === ".sh";
  if (isMeantItself && isExecutable(path) && shebangOf(path) !== "") return [itself];
  const interpreter = ownMember(BY_EXTENSION, extname(script));
  if (interpreter !== undefined) return [...interpreter(script, cwd), script];
  if (isExecutable(path)) return [itself];
  const remedy = `"chmod +x ${shellQuote(script)}" makes it a program, or name the one that runs it: "procman add -- PROGRAM ${shellQuote(script)}"`;
  throw cannotAdd(script, `it is not executable, and its name doesn't say what runs it; ${remedy}`);
}

/** tsx where the project has it: it knows all of TypeScript. Else Node, from 22.6 on. */
function typeScript(script: string, cwd: string): readonly string[] {
  if (nearest(cwd, join("node_modules", "tsx", "package.json")) !== undefined) return ["node", "--import", "tsx"];
  const flags = extname(script) === ".tsx" ? undefined : typeScriptFlags();
  if (flags !== undefined) return ["node", ...flags];
  const what = extname(script) === ".tsx" ? "Node runs no JSX" : `Node ${process.versions.node} runs no TypeScript`;
  throw cannotAdd(script, `${what}; "npm install tsx" lets procman start it`);
}

/** Python of a virtual environment in the project, if it has one. */
function pythonIn(cwd: string): string {
  const own = [".venv", "venv"]
    .map((folder) => join(folder, "bin", "python"))
    .find((path) => existsSync(join(cwd, path)));
  return own ?? (currentRights().has("python3") ? "python3" : "python");
}

function shellOf(path: string): string {
  return /\b(?:bash|zsh|ksh|dash)\b/.exec(shebangOf(path))?.[0] ?? "sh";
}

function shebangOf(path: string): string {
  return /^#!.*/.exec(readFileSync(path, "latin1"))?.[0] ?? "";
}

/** Its script `start`, else its main file. */
function ofFolder(written: string, folder: string, rest: readonly string[]): ProgramToAdd {
  const own = packageIn(folder);
  const name = packageName(own) ?? basename(folder);
  const scripts = scriptsIn(folder);
  if (scripts.includes("start")) return { ...packageScript("start", { folder, rest }), name };
  const main = [own?.main, ...ENTRY_FILES].find(
    (file) => typeof file === "string" && statIfSeen(join(folder, file))?.isFile() === true,
  );
  if (typeof main === "string") return { cmd: quoted([...scriptWords(main, folder), ...rest]), name, cwd: folder };
  const remedy = scripts.length === 0 ? "" : `; its scripts are ${scripts.map((script) => `npm:${script}`).join(", ")}`;
  throw cannotAdd(
    written,
    `it is a folder without a script "start" in its package.json, and without server.js or index.js${remedy}`,
  );
}

type PackageScript = { readonly folder: string; readonly manager?: string; readonly rest: readonly string[] };

/** @throws {ProcmanError} `usage`: there is no such script */
function packageScript(script: string, { folder, manager = managerOf(folder), rest }: PackageScript): ProgramToAdd {
  const known = scriptsIn(folder);
  if (!known.includes(script)) {
    const which = known.length === 0 ? "" : `; it has ${known.join(", ")}.${didYouMean(script, known)}`;
    throw cannotAdd(script, `${join(folder, "package.json")} has no such script${which}`);
  }
  const args = rest.length > 0 && manager === "npm" ? ["--", ...rest] : rest;
  return { cmd: quoted([manager, "run", script, ...args]), name: script, cwd: folder };
}

/** What is run: of `node --inspect app/server.js` the script, of `npm run dev` that one. Without folder and extension. */
function nameIn(words: readonly string[]): string {
  const [first = "", ...rest] = words.filter((word) => !ASSIGNMENT.test(word));
  const script = INTERPRETERS.test(basename(first)) ? rest.find((word) => !/^(-.*|run)$/.test(word)) : undefined;
  const name = basename(script ?? first);
  return name.replace(/(.)\.[A-Za-z]{1,4}$/, "$1");
}
