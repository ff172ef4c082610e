/** `procman completion`: prints a script that completes commands, options and ids in a shell. */
import { Argument, type Command } from "commander";

// The scripts call `procman __complete` for each completion, so they never become outdated.

const SHELLS = ["bash", "zsh", "fish"] as const;

type Shell = (typeof SHELLS)[number];

const BASH = `# procman completion for bash
_procman() {
  local line words=("\${COMP_WORDS[@]:1:COMP_CWORD}")
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <("\${COMP_WORDS[0]}" __complete "\${words[@]}" 2>/dev/null)
}
complete -o bashdefault -o default -F _procman procman
`;

const ZSH = `#compdef procman
# procman completion for zsh
_procman() {
  local line
  local -a values texts
  while IFS= read -r line; do
    values+=("\${line%%$'\\t'*}")
    texts+=("\${line/$'\\t'/  -- }")
  done < <("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#values} )); then
    compadd -l -d texts -a values
  else
    _files
  fi
}
if [[ "\${funcstack[1]}" == _procman ]]; then
  _procman "$@"
else
  compdef _procman procman
fi
`;

const FISH = `# procman completion for fish
function __procman_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] __complete $words[2..-1] 2>/dev/null
end
complete -c procman -f -a '(__procman_complete)'
complete -c procman -n '__fish_prev_arg_in -c --config --cwd --stdout' -F
`;

const SCRIPTS: Readonly<Record<Shell, string>> = { bash: BASH, zsh: ZSH, fish: FISH };

export function define(parent: Command): void {
  parent
    .command("completion")
    .description(
      'Prints the script. bash: eval "$(procman completion bash)" in ~/.bashrc. zsh: procman completion zsh > a file _procman in a folder of $fpath. fish: procman completion fish > ~/.config/fish/completions/procman.fish',
    )
    .addArgument(new Argument("<shell>", "the shell").choices(SHELLS))
    .action((shell: Shell) => {
      process.stdout.write(SCRIPTS[shell]);
    });
}
