/** What of a configuration is not shown, because it may be secret. */
import { type Node, type ParseError, parseTree } from "jsonc-parser";

/** Names of variables, members and options whose values are hidden wherever they come from. */
const SECRET_NAME =
  /secret|token|pass|credential|private|auth|cookie|session|dsn|salt|jwt|bearer|signature|webhook|(?:^|[_.-])(?:key|pwd|pin|pat|otp|sas|sig)(?:[_.-]|$)|key$/i;
/** Options that name a file with the secret. */
const NAMES_FILE = /[_-](?:file|path)$/i;
/** User and password in an address. */
const IN_ADDRESS = /(?<![a-z0-9+.-])([a-z][a-z0-9+.-]*:\/\/)[^/@\s"'\0]+@/gi;
const HIDDEN = "***";
const STRING_OR_COMMENT = /"(?:[^"\\\r\n]|\\.)*"?|\/\/[^\r\n]*|\/\*[\s\S]*?(?:\*\/|$)/g;

/** What stands before a value: `-pVALUE`; `-u user:`; `--name=`, `--name `; `name=`, `"name": `; `Bearer `; nothing, before a known kind of token. */
const BEFORE_VALUE =
  /(?<![\w.-])(?:(-p)(?=[^\s\0=-])|(-u|--user|--proxy-user)[=\s\0]*["']?[^\s\0:"'=-][^\s\0:"'=]*:|(--?[A-Za-z][\w.-]*)(?:=|[\s\0]+(?!-))|"?([A-Za-z_][\w.-]*)"?\s*(?:=|:(?![\d/]))\s*|Bearer\s+|sshpass[\s\0]+-p[\s\0]*|(?=eyJ[\w-]+\.|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA[A-Z0-9]|sk-[\w-]{16}))/g;
const VALUE = /"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)|'[^']*(?:'|$)|(?:\\[\s\S]|[^\s\0"'\\;&|)}])+/y;
/** The rest of a header. */
const REST = /[^"'\r\n\0]+/y;
/** The rest of a word in a list of arguments. */
const WORD = /[^\0]+/y;
const REFERENCE = /^["']?\$(?:\w+|\{\w+\})["']?$/;
/** Ports, user and group: `-p80:80/tcp`, `-u 1000:1000`. */
const NUMBERS = /^[\d.:-]+(?:\/\w+)?$/;
/** Programs whose `-p` is followed by a password. */
const TAKES_PASSWORD = /\b(?:mysql|mariadb|mongo|sshpass)/;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Whether the value of a variable must not be shown: by its name, or as it has something secret in it. */
export function mayBeSecret(name: string, value: string): boolean {
  return isSecretName(name) || withoutSecretWords(value) !== value;
}

/** The arguments of a command, with `***` in place of what may be secret. */
export function withoutSecretArguments(words: readonly string[]): readonly string[] {
  return withoutSecretWords(words.join("\0")).split("\0");
}

/** A command line, a comment or a value, with `***` in place of what may be secret: docs/guide/environment.md says what that is. */
export function withoutSecretWords(text: string): string {
  let shown = "";
  let from = 0;
  const takesPassword = TAKES_PASSWORD.test(text);
  for (const found of text.matchAll(BEFORE_VALUE)) {
    const at = found.index + found[0].length;
    const value = found.index < from ? "" : secretAt(text, at, found);
    const [, p] = found;
    if (value === "" || (p !== undefined && !takesPassword && !/[^A-Za-z]/.test(value))) continue;
    shown += `${text.slice(from, at)}${HIDDEN}`;
    from = at + value.length;
  }
  return `${shown}${text.slice(from)}`.replace(IN_ADDRESS, `$1${HIDDEN}@`);
}

/** The value there; "" if it is not a secret. */
function secretAt(text: string, at: number, found: RegExpExecArray): string {
  const [before, , , option, name = option] = found;
  if (name !== undefined && (!isSecretName(name) || NAMES_FILE.test(name))) return "";
  const isArgument = before.endsWith("\0") || text.charAt(found.index - 1) === "\0";
  const kind = isArgument ? WORD : /:\s$/.test(before) && !/["']/.test(text.charAt(at)) ? REST : VALUE;
  kind.lastIndex = at;
  const [value = ""] = kind.exec(text) ?? [];
  return REFERENCE.test(value) || (name === undefined && NUMBERS.test(value)) ? "" : value;
}

/** A JSON value with comments as it is written, with `***` in place of what may be secret. A reference to a file or variable is none. */
export function withoutSecrets(text: string): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  let shown = "";
  let from = 0;
  for (const { offset, length, value } of root === undefined ? [] : hiddenIn(root)) {
    shown += `${withoutSecretComments(text.slice(from, offset))}${JSON.stringify(value)}`;
    from = offset + length;
  }
  return shown + withoutSecretComments(text.slice(from));
}

/** The lines of a configuration file, valid or not, with `***` in place of what may be secret. */
export function linesWithoutSecrets(text: string): readonly string[] {
  const errors: ParseError[] = [];
  parseTree(text, errors, { allowTrailingComma: true });
  const written = text.split(/\r?\n/);
  const lines = errors.length > 0 ? [] : withoutSecrets(text).split(/\r?\n/);
  // What can't be parsed is hidden line by line; so is a comment of which a hidden word has several lines.
  return lines.length === written.length ? lines : written.map(withoutSecretWords);
}

type HiddenNode = Pick<Node, "offset" | "length" | "value">;

/** What is shown in place of nodes, in the order of the text. */
function hiddenIn(node: Node, isSecret = false): readonly HiddenNode[] {
  if (node.type === "object" && isSecret && isReference(node)) return [];
  const { children = [], offset, length } = node;
  if (node.type === "property") {
    const [key, member] = children;
    return member === undefined ? [] : hiddenIn(member, isSecret || isSecretName(String(key?.value)));
  }
  if (node.type === "array" && !isSecret && children.every(({ type }) => type === "string"))
    return hiddenWords(children);
  if (children.length > 0) return children.flatMap((child) => hiddenIn(child, isSecret));
  if (isSecret) return node.type === "string" || node.type === "number" ? [{ offset, length, value: HIDDEN }] : [];
  return node.type === "string" ? hiddenWords([node]) : [];
}

function hiddenWords(nodes: readonly Node[]): readonly HiddenNode[] {
  const shown = withoutSecretArguments(nodes.map(({ value }) => String(value).replaceAll("\0", "")));
  return nodes.flatMap(({ offset, length, value }, index) =>
    shown[index] === value ? [] : [{ offset, length, value: shown[index] }],
  );
}

/** `{ "file": … }` or `{ "env": … }`, as a value of `env`. */
function isReference({ children = [] }: Node): boolean {
  return children.length === 1 && ["file", "env"].includes(String(children[0]?.children?.[0]?.value));
}

function withoutSecretComments(text: string): string {
  return text.replace(STRING_OR_COMMENT, (found) => (found.startsWith('"') ? found : withoutSecretWords(found)));
}
