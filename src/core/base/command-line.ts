/** What a command line for `/bin/sh` is made of, as far as that is certain without running it: whether a shell is needed, and whose pid the run has. */

export type CommandLine =
  /** A program with plain arguments, which needs no shell. */
  | { readonly kind: "words"; readonly words: readonly string[] }
  /** The shell becomes the program of its last command; `line` has the `exec` for that. */
  | { readonly kind: "exec"; readonly line: string }
  /** The shell stays and waits. `why`: completes "as …". */
  | { readonly kind: "shell"; readonly why: string; readonly remedy: Remedy };

/** `exec`: the user knows that `exec` before the last program is right. `none`: the line needs the shell until its end. */
export type Remedy = "exec" | "none";

/** A word as written, and its text if no shell is needed to know it. */
type ShellWord = { readonly raw: string; readonly at: number; readonly text: string | undefined };

type SimpleCommand = {
  readonly assignments: string[];
  readonly redirections: string[];
  readonly words: ShellWord[];
  /** `|`: it gets the output of the command before it. */
  readonly after: string;
};

class Unclear extends Error {
  readonly remedy: Remedy;

  constructor(why: string, remedy: Remedy = "none") {
    super(why);
    this.remedy = remedy;
  }
}

const NAMED = String.raw`\$(?:[A-Za-z_]\w*|[0-9@*#?$!-])`;
const BRACED = String.raw`\$\{[^{}'"${"`"}\\$()\n]*\}`;
const ARITHMETIC = String.raw`\$\(\((?:[\w \t+*/%<>=!&|^~?:,-]|\$\w+)*\)\)`;
/** Without what could hide its end: nested substitutions, comments, here-documents, `case`. */
const SUBSTITUTION = String.raw`\$\((?!\()(?:(?!<<|\$')[^()'"${"`"}\\#]|'[^']*'|"[^"$${"`"}\\]*")*\)`;
const BACKQUOTED = "`[^`'\"\\\\#<()]*`";
const EXPANSION = [NAMED, BRACED, ARITHMETIC, SUBSTITUTION, BACKQUOTED].join("|");
const SINGLE_QUOTED = "'[^']*'";
const DOUBLE_QUOTED = String.raw`"(?:[^"\\$${"`"}]|\\[^]|${EXPANSION}|\$(?![\w@*#?$!({-]))*"`;
/** `$'` and `$"` mean something to some shells only. */
const LONE_DOLLAR = String.raw`\$(?![\w@*#?$!({'"-])`;
const PIECE = String.raw`[^ \t\n|&;<>()'"${"`"}$\\]|\\[^\n]|${SINGLE_QUOTED}|${DOUBLE_QUOTED}|${EXPANSION}|${LONE_DOLLAR}`;

const BLANKS = /[ \t]*(?:#[^\n]*)?/y;
const OPERATOR = /&&|\|\||[;|\n]/y;
/** dash takes one digit before it, other shells more. */
const REDIRECTION = /(\d*)(?:>>|>\||>&|<&|<>|>|<(?!<))[ \t]*/y;
const WORD = new RegExp(`(?:${PIECE})+`, "y");
const ASSIGNMENT = /^([A-Za-z_]\w*)=/;
const EXPANDS = /[$`]/;
const SUBSTITUTES = /\$\((?!\()|`/;
/** Nothing in it means anything to a shell. */
const PLAIN = /^[\w./@%+,:=-]+$/;
/** Characters of patterns, lists in braces, tilde and assignments. */
const SPECIAL = /[*?[\]{}~!^=]/;

const PATH_IN_HOME = /^~\/[\w./@+,:-]+$/;
/** The slash is not part of an expansion. */
const QUOTED_PATH = /^"(?:[^"\\`(){}/]|\$\{\w+\})*\/(?:[^"\\`(){}]|\$\{\w+\})*"$/;

/** What a shell reads as grammar (POSIX 2.4, and what bash, zsh and ksh have beyond). */
const KEYWORDS = new Set(
  "case do done elif else esac fi for if in then until while { } ! function select time coproc [[ ]] foreach repeat end nocorrect noglob -".split(
    " ",
  ),
);

/** What a shell does itself (POSIX 2.14 and 1.6, and what dash, bash, zsh and ksh have beyond). */
const BUILTINS = new Set(
  ": . [ alias autoload bg bind break builtin bye caller cd chdir command compgen complete compopt continue declare dirs disown echo emulate enable eval exec exit export false fc fg float functions getopts hash help history integer jobs kill let limit local logout mapfile newgrp popd print printf pushd pwd read readarray readonly rehash return sched set setopt shift shopt source suspend test times trap true type typeset ulimit umask unalias unfunction unhash unlimit unset unsetopt wait whence where which zmodload".split(
    " ",
  ),
);

/** Builtins after which a program is still started as before: they define no function, alias or trap. */
const HARMLESS = new Set(
  ": [ cd chdir echo exec exit export false printf pwd read readonly test true ulimit umask unset".split(" "),
);

/** Options of `set` that neither print nor control jobs. */
const QUIET_OPTIONS = /^[-+][aefu]+$/;

/**
 * Says how `line` can be run so that the pid of the run is the program's, with the same effects as by `/bin/sh -c
 * line`. What is not certain stays the shell's.
 *
 * @example
 * parseCommandLine("redis-server --port 7000")      // { kind: "words", words: ["redis-server", "--port", "7000"] }
 * parseCommandLine("cd app && PORT=80 node app.js") // { kind: "exec", line: "cd app && PORT=80 exec node app.js" }
 * parseCommandLine("make | tee log")                // { kind: "shell", why: "its last command is a pipeline", remedy:
 * "none" }
 */
export function parseCommandLine(line: string): CommandLine {
  try {
    return withProgram(line, commandsOf(line));
  } catch (error) {
    if (!(error instanceof Unclear)) throw error;
    return { kind: "shell", why: error.message, remedy: error.remedy };
  }
}

function withProgram(line: string, commands: readonly SimpleCommand[]): CommandLine {
  const last = commands.at(-1);
  if (last === undefined) throw new Unclear("it has no command");
  if (last.after === "|") throw new Unclear("its last command is a pipeline");
  const [first, second] = last.words;
  if (first === undefined) throw new Unclear("its last command starts no program");
  if (first.text === "exec" && second !== undefined) return { kind: "exec", line };
  for (const command of commands.slice(0, -1)) requireHarmless(command);
  requireProgram(first);
  const { assignments, redirections, words } = last;
  if (
    commands.length === 1 &&
    assignments.length + redirections.length === 0 &&
    words.every(({ raw }) => PLAIN.test(raw))
  )
    return { kind: "words", words: words.map(({ raw }) => raw) };
  requireSameOrder(last);
  return { kind: "exec", line: `${line.slice(0, first.at)}exec ${line.slice(first.at)}` };
}

/** @throws {Unclear} */
function requireProgram({ raw, text }: ShellWord): void {
  if (isPath(raw, text)) return;
  if (text === undefined) throw new Unclear(`only the shell knows which program ${raw} is`, "exec");
  if (KEYWORDS.has(raw)) throw new Unclear(`"${raw}" is part of the shell's grammar`);
  if (BUILTINS.has(text)) throw new Unclear(`the shell itself runs its last command, ${text}`);
  // For `exec`, a word with a hyphen is an option; for some shells, one with a percent sign is a job.
  if (/^(?:[-%]|$)/.test(text)) throw new Unclear(`${raw} may be no program`);
}

/** A name with a slash, which is a program in every shell. The shell may split a word that is not quoted. */
function isPath(raw: string, text: string | undefined): boolean {
  if (text !== undefined) return text.includes("/") && !text.startsWith("-");
  return PATH_IN_HOME.test(raw) || QUOTED_PATH.test(raw);
}

/** @throws {Unclear} */
function requireHarmless({ words: [first, ...args] }: SimpleCommand): void {
  if (first === undefined || isPath(first.raw, first.text)) return;
  const { raw, text } = first;
  if (text === undefined) throw new Unclear(`only the shell knows what ${raw} does`, "exec");
  if (KEYWORDS.has(raw)) throw new Unclear(`"${raw}" is part of the shell's grammar`);
  const isHarmless =
    !BUILTINS.has(text) || HARMLESS.has(text) || (text === "set" && args.every((arg) => QUIET_OPTIONS.test(arg.raw)));
  if (!isHarmless) throw new Unclear(`the shell may be needed after ${raw}`, "exec");
}

/** Where `exec` would change when variables and redirections come to effect (POSIX 2.9.1). @throws {Unclear} */
function requireSameOrder({ assignments, redirections }: SimpleCommand): void {
  const names = assignments.map((each) => ASSIGNMENT.exec(each)?.[1] ?? "");
  const dependsOnEarlier = (text: string, index: number): boolean =>
    index > 0 &&
    EXPANDS.test(text) &&
    (SUBSTITUTES.test(text) || names.slice(0, index).some((name) => new RegExp(`\\b${name}\\b`).test(text)));
  const isUnclear =
    assignments.length > 0 && (redirections.some((each) => EXPANDS.test(each)) || assignments.some(dependsOnEarlier));
  if (isUnclear)
    throw new Unclear("a variable before its program may be used by another one, or by a redirection", "exec");
}

/** @throws {Unclear} */
function commandsOf(line: string): readonly SimpleCommand[] {
  return new CommandReader(line).read();
}

class CommandReader {
  readonly #line: string;
  readonly #commands: SimpleCommand[] = [];
  #at = 0;
  #current = commandAfter("");

  constructor(line: string) {
    this.#line = line;
  }

  /** @throws {Unclear} */
  read(): readonly SimpleCommand[] {
    for (this.#take(BLANKS); this.#at < this.#line.length; this.#take(BLANKS)) {
      const operator = this.#take(OPERATOR)?.[0];
      if (operator === undefined) this.#readWord();
      else if (operator !== "\n" || !isEmpty(this.#current)) this.#end(operator);
    }
    if (!isEmpty(this.#current)) return [...this.#commands, this.#current];
    const { after } = this.#current;
    if (["&&", "||", "|"].includes(after)) throw new Unclear(`it has nothing after ${after}`);
    return this.#commands;
  }

  #take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#line) ?? undefined;
    this.#at += found?.[0].length ?? 0;
    return found;
  }

  #end(operator: string): void {
    if (isEmpty(this.#current)) throw new Unclear(`it has nothing before ${operator}`);
    this.#commands.push(this.#current);
    this.#current = commandAfter(operator);
  }

  /** A word of the command, or a redirection with the word that belongs to it. */
  #readWord(): void {
    const from = this.#at;
    const redirection = this.#take(REDIRECTION);
    const at = this.#at;
    const raw = this.#take(WORD)?.[0];
    if (raw === undefined || raw.startsWith("#") || (redirection?.[1]?.length ?? 0) > 1)
      throw new Unclear(whyUnclear(this.#line.slice(from)));
    const { assignments, redirections, words } = this.#current;
    if (redirection !== undefined) redirections.push(raw);
    else if (words.length === 0 && ASSIGNMENT.test(raw)) assignments.push(raw);
    else words.push({ raw, at, text: textOf(raw) });
  }
}

function commandAfter(after: string): SimpleCommand {
  return { assignments: [], redirections: [], words: [], after };
}

function isEmpty({ assignments, redirections, words }: SimpleCommand): boolean {
  return assignments.length + redirections.length + words.length === 0;
}

/** undefined: it depends on variables, files or the shell. */
function textOf(raw: string): string | undefined {
  if (KEYWORDS.has(raw) || raw === "[") return raw;
  let isKnown = true;
  const text = raw.replace(new RegExp(PIECE, "g"), (piece) => {
    const [sign] = piece;
    if (sign === "\\") return piece.slice(1);
    if (sign === "'") return piece.slice(1, -1);
    if (EXPANDS.test(piece) || SPECIAL.test(sign ?? "") || (sign === '"' && piece.includes("\\"))) isKnown = false;
    return sign === '"' ? piece.slice(1, -1) : piece;
  });
  return isKnown ? text : undefined;
}

function whyUnclear(rest: string): string {
  if (rest.startsWith("&")) return "it has a background job (&)";
  if (/^\d*<</.test(rest)) return "it has a here-document";
  if (/^[<>]?[()]/.test(rest)) return "it has a subshell or a function";
  return "procman does not analyse this syntax";
}
