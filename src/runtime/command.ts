/** From a command line to what is executed. */

/** Words of a plain command: nothing in them means anything to a shell. */
const PLAIN_WORDS = /^[ \t]*[\w./@%+,:-][\w./@%+,:=-]*(?:[ \t]+[\w./@%+,:=-]+)*[ \t]*$/;

/** What a shell does itself, or reads as grammar (POSIX 2.4, 2.14, and dash's own). */
const BUILTINS = new Set(
  ": . [ alias bg break cd chdir command continue echo eval exec exit export false fc fg getopts hash jobs kill local newgrp printf pwd read readonly return set shift source test times trap true type ulimit umask unalias unset wait case do done elif else esac fi for function if in select then time until while { } !".split(
    " ",
  ),
);

const SHELL = "/bin/sh";

/**
 * How a `cmd` is executed. A plain program with plain arguments needs no shell at all, a single command with quotes,
 * variables, globs or redirects is run by a shell that becomes the program (`exec`): in both cases the pid is the
 * program's. Everything else stays the shell's: `a && b`, pipes, loops, here-documents, background jobs.
 *
 * @example
 * shellArgv("redis-server --port 7000")   // ["redis-server", "--port", "7000"]
 * shellArgv("node app.js > $OUT")         // ["/bin/sh", "-c", "exec node app.js > $OUT"]
 * shellArgv("make && ./run")              // ["/bin/sh", "-c", "make && ./run"]
 */
export function shellArgv(line: string): readonly string[] {
  const first = /^\s*("[^"]*"|'[^']*'|\S*)/.exec(line)?.[1] ?? "";
  if (!BUILTINS.has(first)) {
    if (PLAIN_WORDS.test(line) && !first.includes("=")) return line.trim().split(/[ \t]+/);
    if (isSingleCommand(line) && isProgramName(first)) return [SHELL, "-c", `exec ${line.trim()}`];
  }
  return [SHELL, "-c", line];
}

/** A first word that can't be an assignment, a substitution, an alias by quotes or a redirect. */
function isProgramName(word: string): boolean {
  return /^(?:[\w./+-]+|"[^"\\$`]*\/[^"\\$`]*"|'[^']*\/[^']*')$/.test(word);
}

/** Quoted text without substitutions, and escaped characters. */
const QUOTED = /\\.|'[^']*'|"(?:[^"\\$`]|\\.|\$(?!\())*"/gs;

/** Operators, substitutions, here-documents, comments, quotes that don't close. `2>&1` duplicates a descriptor; any other & is a background job or an AND. */
const MORE_THAN_ONE_COMMAND = /['"`\\]|\$\(|[;|()\n]|<<|(?<![<>])&|(?:^|\s)#/;

function isSingleCommand(line: string): boolean {
  return !MORE_THAN_ONE_COMMAND.test(line.replace(QUOTED, "_"));
}
