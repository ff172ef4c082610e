/** The command `procman`. `run` goes straight to the keeper's small file; everything else loads the command line. */
import { createRequire } from "node:module";
import { settlesFolder } from "./cli/settled-folder.ts";

const COMPLETION = "__complete";

targetAfterCommand(process.argv, process.argv[2] === COMPLETION ? 3 : 2);
const [command, ...args] = process.argv.slice(2);
const load = createRequire(__filename);
if (command !== "run" || args.some((arg) => /^(?:-h|--help|-d.*|--detach|--host(?:=.*)?)$/.test(arg))) load("./cli.cjs");
else if (settlesFolder(args)) load("./keeper.cjs");

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
