/** `procman completion`: prints a script that completes commands, options and ids in a shell. */
import { Argument, type Command } from "commander";
import { SCRIPTS, SHELLS, type Shell } from "../completion-scripts.ts";

export function define(parent: Command): void {
  parent
    .command("completion")
    .summary("print a script that completes commands, options and ids in a shell")
    .description(
      'Prints the script. bash: eval "$(procman completion bash)" in ~/.bashrc. zsh: procman completion zsh > a file _procman in a folder of $fpath. fish: procman completion fish > ~/.config/fish/completions/procman.fish',
    )
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .action((shell: Shell) => {
      process.stdout.write(SCRIPTS[shell]);
    });
}
