/** The command `procman`. `run` goes straight to the keeper's small file; everything else loads the command line. */
import { createRequire } from "node:module";
import { ProcmanError } from "./core/base/errors.ts";
import { nearestFolder } from "./core/config/nearest-folder.ts";
import { asCalled } from "./core/os/called-as.ts";
import { startFolder } from "./core/os/start-folder.ts";

const COMPLETION = "__complete";
/** `run --file` in its forms. */
const FILE = /^(?:-f.*|--file|--file=.*)$/;
const CONFIG = /^(?:-c.*|--config|--config=.*)$/;

targetAfterCommand(process.argv, process.argv[2] === COMPLETION ? 3 : 2);
const [command, ...args] = process.argv.slice(2);
const load = createRequire(__filename);
if (command !== "run" || args.some((arg) => /^(?:-h|--help|-d.*|--detach|--json|--host(?:=.*)?)$/.test(arg)))
  load("./cli.cjs");
else if (args.some((arg) => FILE.test(arg)) ? setForeignFile(args) : setProjectFolder(args)) load("./keeper.cjs");

/** `procman -c FILE status` becomes `procman status -c FILE`; `--host` likewise. A command that is being typed, for completion, comes last. */
function targetAfterCommand(words: string[], start: number): void {
  const first = words[start] ?? "";
  const length = /^(?:-c|--config|--host)$/.test(first) ? 2 : /^(?:-c|--config=|--host=)./.test(first) ? 1 : 0;
  const name = words[start + length];
  if (length === 0 || name === undefined) return;
  const option = words.splice(start, length);
  const takesNone = /^(?:help|version|-.*)$/.test(name) || (start === 3 && words.length === start + 1);
  if (!takesNone) words.splice(start + 1, 0, ...option);
}

/**
 * Adds the folder with the file to a `run` without `--config`: a procman keeps to it, whatever appears above it or
 * between the two. Returns false after an error.
 */
function setProjectFolder(args: readonly string[]): boolean {
  if (process.env.PROCMAN_CONFIG || args.some((arg) => CONFIG.test(arg))) return true;
  try {
    const folder = nearestFolder(startFolder());
    if (folder !== undefined) process.argv.splice(3, 0, "--config", folder);
    return true;
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    process.stderr.write(`procman: ${asCalled(error.message)}\n`);
    process.exitCode = error.exitCode;
    return false;
  }
}

/**
 * Another process makes a configuration of the file: the keeper, which this one becomes, needs no parser of YAML.
 * Returns false after an error.
 */
function setForeignFile(args: readonly string[]): boolean {
  const at = args.findIndex((arg) => FILE.test(arg));
  const [option = "", next = ""] = args.slice(at);
  const inline = option.replace(/^(?:-f|--file=?)/, "");
  const path = inline === "" && !option.endsWith("=") ? next : inline;
  // It says what is wrong.
  if (path === "" || args.some((arg) => CONFIG.test(arg))) {
    load("./cli.cjs");
    return false;
  }
  const { spawnSync } = process.getBuiltinModule("node:child_process");
  const { status, stdout } = spawnSync(process.execPath, [__filename, "__configuration", path], {
    stdio: ["inherit", "pipe", "inherit"],
    encoding: "utf8",
  });
  if (status !== 0) process.exitCode = status ?? 1;
  else process.argv.splice(3 + at, inline === "" ? 2 : 1, `--config=${stdout}`);
  return status === 0;
}
