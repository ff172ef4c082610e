/** The command of a workload as a list of words, by a shell only where something has to be done before the program. */
import { parseCommandLine } from "../../core/base/command-line.ts";
import { type Ulimits, ulimitCommand } from "../../core/contract/limits.ts";
import type { Variable, Workload } from "./workload.ts";

/** Where the target puts the content of a secret's file. */
type SecretPath = (variable: { readonly name: string; readonly path: string }) => string;

/** What the shell has to do, because the target has no equivalent. */
export type ScriptSteps = {
  /** Variables that it sets. */
  readonly variables?: readonly Variable[];
  readonly secretPath?: SecretPath | undefined;
  readonly beforeStart?: boolean;
  readonly limits?: boolean;
  readonly umask?: boolean;
  readonly nice?: boolean;
  /** The most time that a run may take. */
  readonly timeout?: boolean;
  /** The path of a script on the target. */
  readonly pathOf?: (path: string) => string;
  /** The path of the program, where the target doesn't look it up. */
  readonly resolve?: (program: string) => string;
};

const SHELL = ["/bin/sh", "-c"] as const;
/** Exit code of sysexits.h. */
const EX_CONFIG = 78;

/** Words for the target, without a shell where none is needed. */
export function commandOf(workload: Workload, steps: ScriptSteps = {}): readonly string[] {
  const { words: [program, ...args] = [], line } = programOf(workload, steps.pathOf);
  const words = program === undefined ? undefined : [steps.resolve?.(program) ?? program, ...args];
  const before = linesBefore(workload, steps);
  const wrappers = wrappersOf(workload, steps);
  if (words !== undefined && before.length === 0) return [...wrappers, ...words];
  if (wrappers.length > 0)
    return [
      ...SHELL,
      [...before, `exec ${[...wrappers, ...(words ?? [...SHELL, line])].map(quoted).join(" ")}`].join("\n"),
    ];
  return [...SHELL, [...before, words === undefined ? line : `exec ${words.map(quoted).join(" ")}`].join("\n")];
}

/** The command as one line for a shell. */
export function lineOf(workload: Workload): string {
  const { command } = workload.spec;
  return command.kind === "shell" ? command.line : (programOf(workload).words ?? []).map(quoted).join(" ");
}

/** Whether a shell stays beside the program, which then gets no signal. */
export function keepsShell({ spec: { command } }: Workload): boolean {
  return command.kind === "shell" && parseCommandLine(command.line).kind === "shell";
}

/** `words` is absent if a shell has to read `line`. */
function programOf(
  { spec: { command } }: Workload,
  pathOf = (path: string) => path,
): { readonly words?: readonly string[]; readonly line: string } {
  if (command.kind === "worker") return { words: ["node", pathOf(command.script), ...command.args], line: "" };
  const parsed = parseCommandLine(command.line);
  if (parsed.kind === "words") return { words: parsed.words, line: "" };
  return { line: parsed.kind === "exec" ? parsed.line : command.line };
}

function linesBefore({ spec }: Workload, steps: ScriptSteps): readonly string[] {
  const { ulimits = {}, umask, policy } = spec;
  const { beforeStart } = policy;
  return [
    ...exportsOf(steps.variables ?? [], steps.secretPath),
    ...(steps.umask === true && umask !== undefined ? [`umask ${umask}`] : []),
    ...(steps.limits === true
      ? Object.entries(ulimits).map(([name, value]) => limitOf(name as keyof Ulimits, value))
      : []),
    ...(steps.beforeStart === true && beforeStart !== undefined ? [`${hookOf(beforeStart)} || exit $?`] : []),
  ];
}

function wrappersOf({ spec: { nice, policy } }: Workload, steps: ScriptSteps): readonly string[] {
  return [
    ...(steps.nice === true && nice !== undefined ? ["nice", "-n", String(nice)] : []),
    ...(steps.timeout === true && policy.timeoutMs > 0
      ? ["timeout", `--kill-after=${policy.terminateMs / 1_000}`, String(policy.timeoutMs / 1_000)]
      : []),
  ];
}

/** A hook in its own shell. */
export function hookOf({ line, timeoutMs }: { readonly line: string; readonly timeoutMs: number }): string {
  return [...(timeoutMs === 0 ? [] : ["timeout", String(timeoutMs / 1_000)]), ...SHELL, line].map(quoted).join(" ");
}

/** Lines that set and export variables; a file or a variable that is missing ends the shell. */
export function exportsOf(
  variables: readonly Variable[],
  secretPath: SecretPath = ({ path }) => path,
): readonly string[] {
  return variables.map((variable) => {
    const { name } = variable;
    if (variable.kind === "file")
      return `${name}="$(cat ${secretWord(secretPath(variable))})" || exit ${EX_CONFIG}; export ${name}`;
    return `export ${name}=${wordOf(variable)}`;
  });
}

/** A path that begins with a variable of the target stays one. */
function secretWord(path: string): string {
  return path.startsWith("$") ? `"${path}"` : quoted(path);
}

function wordOf(variable: Exclude<Variable, { readonly kind: "file" }>): string {
  if (variable.kind === "text") return quoted(variable.value);
  return variable.kind === "given" ? `"\${${variable.from}:?}"` : composed(variable.text);
}

const REFERENCE = /\$\$\{|\$\{([A-Za-z_]\w*)(?:(:?-)([^}]*))?\}|["\\$`]/g;

/** The references are those of the shell, too; one without a default must be set. */
function composed(text: string): string {
  const inside = text.replace(REFERENCE, (written: string, name?: string, sign?: string, ifMissing = "") => {
    if (name === undefined) return written === "$${" ? "\\${" : `\\${written}`;
    return sign === undefined ? `\${${name}?}` : `\${${name}${sign}${ifMissing.replace(/["\\$`]/g, "\\$&")}}`;
  });
  return `"${inside}"`;
}

function limitOf(name: keyof Ulimits, value: number): string {
  return `${ulimitCommand(name, value)} || exit ${EX_CONFIG}`;
}

/** As a shell needs it. */
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
