/** `procman completion`: a script by which a shell completes commands, options and ids. */
import { Argument, type Command } from "commander";
import { SCRIPTS, SHELLS, type Shell } from "../completion-scripts.ts";

export function define(parent: Command): void {
  parent
    .command("completion")
    .summary("print a script by which a shell completes commands, options and ids")
    .description(
      'Prints the script. bash: eval "$(procman completion bash)" in ~/.bashrc. zsh: procman completion zsh > a file _procman in a folder of $fpath. fish: procman completion fish > ~/.config/fish/completions/procman.fish',
    )
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .action((shell: Shell) => {
      process.stdout.write(SCRIPTS[shell]);
    });
}
