/** The command `procman`. `run` goes straight to the keeper's small file; everything else loads the command line. */
import { createRequire } from "node:module";
import { ProcmanError } from "./base/errors.ts";
import { nearestFolder } from "./config/nearest-folder.ts";

const COMPLETION = "__complete";

configAfterCommand(process.argv, process.argv[2] === COMPLETION ? 3 : 2);
const [command, ...args] = process.argv.slice(2);
const load = createRequire(__filename);
if (command !== "run" || args.some((arg) => /^(?:-h|--help|-d.*|--detach)$/.test(arg))) load("./cli.cjs");
else if (settlesFolder()) load("./keeper.cjs");

/** A procman that is started below the folder of its file keeps to that folder, whatever appears between the two. False: an error. */
function settlesFolder(): boolean {
  if (process.env.PROCMAN_CONFIG || args.some((arg) => /^(?:-c.*|--config|--config=.*)$/.test(arg))) return true;
  try {
    const folder = nearestFolder(process.cwd());
    if (folder !== undefined && folder !== process.cwd()) process.argv.splice(3, 0, "--config", folder);
    return true;
  } catch (error) {
    // The current folder was removed, say: the service reports it.
    if (!(error instanceof ProcmanError)) return true;
    process.stderr.write(`procman: ${error.message}\n`);
    process.exitCode = error.exitCode;
    return false;
  }
}

/** `procman -c FILE status` becomes `procman status -c FILE`. A command that is being typed, for completion, comes last. */
function configAfterCommand(words: string[], start: number): void {
  const first = words[start] ?? "";
  const length = /^(?:-c|--config)$/.test(first) ? 2 : /^(?:-c|--config=)./.test(first) ? 1 : 0;
  const name = words[start + length];
  if (length === 0 || name === undefined) return;
  const option = words.splice(start, length);
  const takesNone = /^(?:help|version|-.*)$/.test(name) || (start === 3 && words.length === start + 1);
  if (!takesNone) words.splice(start + 1, 0, ...option);
}
