/** Entry of the commands that speak with a running procman: they are used most, and load a third of what all commands need. */
import { CONTROL } from "./control-commands.ts";
import { runProgram } from "./program.ts";

runProgram(CONTROL);
