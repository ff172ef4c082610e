/** Entry of all commands except `procman run`, which runs in the keeper, and those that `cli-boot.ts` handles itself. */
import { complete } from "./completion.ts";
import { runProgram } from "./program.ts";

runProgram(complete);
