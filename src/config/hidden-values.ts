/** What of a configuration is not shown, because it may be secret. */
import { type Node, parseTree } from "jsonc-parser";

/** Names of variables and members whose values are hidden wherever they come from. */
const SECRET_NAME = /secret|token|pass|credential|private|auth|cookie|session|dsn|salt|(?:^|_)(?:key|pwd|pin)(?:_|$)|key$/i;
/** User and password in an address. */
const IN_ADDRESS = /([a-z][a-z0-9+.-]*:\/\/)[^/@\s"]+@/gi;
const HIDDEN = "***";
const STRING_OR_COMMENT = /"(?:[^"\\\r\n]|\\.)*"|\/\/[^\r\n]*|\/\*[\s\S]*?\*\//g;
/** A member or an assignment that is commented out. */
const ASSIGNMENT = /("?)([\w.-]+)\1(\s*[:=]\s*)("(?:[^"\\]|\\.)*"|[^\s,}"]+)/g;

export function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name);
}

/** Whether the value of a variable must not be shown: by its name, or as it has a user and password in an address. */
export function mayBeSecret(name: string, value: string): boolean {
  return isSecretName(name) || withoutPasswords(value) !== value;
}

export function withoutPasswords(text: string): string {
  return text.replace(IN_ADDRESS, `$1${HIDDEN}@`);
}

/** A JSON value with comments as it is written, with `***` in place of each value that may be secret. A reference to a file or variable is none. */
export function withoutSecrets(text: string): string {
  const root = parseTree(text, [], { allowTrailingComma: true });
  let shown = text;
  for (const { offset, length } of root === undefined ? [] : secretsIn(root).toReversed())
    shown = `${shown.slice(0, offset)}"${HIDDEN}"${shown.slice(offset + length)}`;
  return withoutPasswords(shown.replace(STRING_OR_COMMENT, (found) => (found.startsWith('"') ? found : withoutAssignments(found))));
}

/** In the order of the text. */
function secretsIn(node: Node, isSecret = false): readonly Node[] {
  if (node.type === "object" && isSecret && isReference(node)) return [];
  const children = node.children ?? [];
  if (node.type === "property") {
    const [key, value] = children;
    return value === undefined ? [] : secretsIn(value, isSecret || isSecretName(String(key?.value)));
  }
  if (children.length > 0) return children.flatMap((child) => secretsIn(child, isSecret));
  return isSecret && (node.type === "string" || node.type === "number") ? [node] : [];
}

/** `{ "file": … }` or `{ "env": … }`, as a value of `env`. */
function isReference({ children = [] }: Node): boolean {
  return children.length === 1 && ["file", "env"].includes(String(children[0]?.children?.[0]?.value));
}

function withoutAssignments(comment: string): string {
  return comment.replace(ASSIGNMENT, (found, quote: string, name: string, sign: string) =>
    isSecretName(name) ? `${quote}${name}${quote}${sign}${HIDDEN}` : found,
  );
}
