/** Entry of all commands but `procman run`, which the bin hands to the keeper, what `boot.ts` answers itself, and those of `control-main.ts`. */
import { COMMANDS } from "./commands.ts";
import { complete } from "./complete.ts";
import { runProgram } from "./program.ts";

runProgram(COMMANDS, complete);
