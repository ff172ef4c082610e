/** The command `procman`. `run` goes straight to the keeper's small file; everything else loads the command line. */
import { createRequire } from "node:module";

const [command, ...args] = process.argv.slice(2);
const load = createRequire(__filename);
if (command === "run" && !args.some((arg) => /^(?:-h|--help|-d.*|--detach)$/.test(arg))) load("./keeper.cjs");
else load("./cli.cjs");
