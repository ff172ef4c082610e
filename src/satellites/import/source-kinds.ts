/** Which process manager a file is of. */
import { basename } from "node:path";
import { ProcmanError } from "../../core/base/errors.ts";
import { isObject } from "../../core/base/schema-check.ts";
import { placedDocument } from "../../core/config/document.ts";
import { SourceFault } from "./source-fault.ts";
import { type ForeignFile, withPlace } from "./source-file.ts";
import { readYaml } from "./yaml-text.ts";

export const SOURCE_KINDS = [
  "pm2",
  "supervisord",
  "procfile",
  "process-compose",
  "compose",
  "systemd",
  "crontab",
] as const;
/** What `procman import` knows. */
export type ImportedKind = (typeof SOURCE_KINDS)[number];
/** `package`: named by `dev` alone. */
export type SourceKind = ImportedKind | "package";

/** `data`: of YAML and JSON. */
export type KnownSource = { readonly kind: SourceKind; readonly source: ForeignFile; readonly data?: unknown };

const BY_NAME: readonly (readonly [RegExp, SourceKind])[] = [
  [/^Procfile(\..*)?$|\.procfile$/i, "procfile"],
  [/\.(service|timer|path|socket|target|mount|slice)$/, "systemd"],
  [/\.[cm]?js$/, "pm2"],
  [/^crontab$|\.cron(tab)?$|\.crontab$/, "crontab"],
  [/^supervisord?.*\.(conf|ini)$/, "supervisord"],
];

/** What a file of no known name begins with. */
const BY_TEXT: readonly (readonly [RegExp, SourceKind])[] = [
  [/^\[(program:|supervisord\]|include\]|fcgi-program:|eventlistener:)/m, "supervisord"],
  [/^\[(Unit|Service|Timer|Install|Path|Socket)\]/m, "systemd"],
  [
    /^(#.*\n|[^\S\n]*\n|[A-Za-z_]\w*[^\S\n]*=.*\n)*(@\w+[^\S\n]+\S|([\d*,/-]+[^\S\n]+){2,4}\S+[^\S\n]+\S+[^\S\n]+\S)/,
    "crontab",
  ],
];

/** Files that say what can be run, not what shall run: name, and what to do instead. */
const ADDED: Readonly<Record<string, string>> = {
  "package.json":
    'it says not which of its scripts are to run; "procman dev" runs its script "dev", "procman add npm:dev" adds the script "dev", "procman add ." the package',
  "turbo.json":
    'it says not which of its tasks are to run; "procman add --id dev -- npx turbo run dev" adds the task "dev" of all packages',
};

/** JSON or YAML. */
const DATA_NAME = /\.(ya?ml|json|jsonc|pm2)$/;

/** A program that exports its apps. */
export function isProgram({ file }: Pick<ForeignFile, "file">): boolean {
  return /\.[cm]?js$/.test(file);
}

/**
 * Says by name and content what a file is, unless `given` says it.
 *
 * @throws {ProcmanError} `configuration-invalid`: it is empty, of no known kind, or has a syntax error
 */
export function recognised(source: ForeignFile, given?: SourceKind): KnownSource {
  if (!/\S/.test(source.text))
    throw new ProcmanError("configuration-invalid", `Cannot import ${source.shownAs}: the file is empty`);
  const kind = given ?? kindByName(source.file);
  if (kind !== undefined && (!isData(kind) || isProgram(source))) return { kind, source };
  return (kind === undefined ? byText(source) : undefined) ?? byData(source, kind);
}

function kindByName(file: string): SourceKind | undefined {
  return (
    BY_NAME.find(([pattern]) => pattern.test(basename(file)))?.[1] ??
    (/\/cron\.d\/[^/]+$/.test(file) ? "crontab" : undefined)
  );
}

/** Kind of a text that is neither JSON nor YAML. */
function byText(source: ForeignFile): KnownSource | undefined {
  if (DATA_NAME.test(source.file)) return undefined;
  const kind = BY_TEXT.find(([pattern]) => pattern.test(source.text))?.[1];
  return kind === undefined ? undefined : { kind, source };
}

function byData(source: ForeignFile, given: SourceKind | undefined): KnownSource {
  const { file, shownAs, text } = source;
  const isData = given !== undefined || DATA_NAME.test(file) || /^[ \t]*[{[]|^\S+:[ \t\r]*$/m.test(text);
  const data = isData ? readData(source) : undefined;
  const kind = given ?? kindOf(data, shownAs);
  if (kind !== undefined) return { kind, source, data };
  if (!DATA_NAME.test(file) && /^[A-Za-z0-9_-]+: *\S/m.test(text)) return { kind: "procfile", source };
  const remedy = ADDED[basename(file)] ?? `its kind is not recognized; name it with --from: ${SOURCE_KINDS.join(", ")}`;
  throw new ProcmanError("configuration-invalid", `Cannot import ${shownAs}: ${remedy}`);
}

function isData(kind: SourceKind): boolean {
  return kind === "pm2" || kind === "compose" || kind === "process-compose";
}

/** JSON may have comments, as pm2 allows them. */
function readData(source: ForeignFile): unknown {
  return withPlace(source, () => {
    if (!/^\s*(\/[/*]|[{[])/.test(source.text)) return readYaml(source.text);
    const { data, syntax } = placedDocument(source.text);
    const [fault] = syntax;
    if (fault === undefined) return data;
    // YAML in braces.
    if (/\.ya?ml$/.test(source.file)) return readYaml(source.text);
    const literal = placedDocument(withJsonQuotes(source.text));
    if (literal.syntax.length === 0) return literal.data;
    throw new SourceFault({ line: fault.line, column: fault.column }, fault.message);
  });
}

/** What is never closed goes to the end, so that each character is read once. */
const LITERAL_PIECE =
  /"(?:[^"\\]|\\(?:[\s\S]|$))*(?:"|$)|'((?:[^'\\]|\\(?:[\s\S]|$))*)(?:'|$)|\/\/.*|\/\*(?:[\s\S]*?\*\/|[\s\S]*)|([A-Za-z_$][\w$]*)(\s*:)?/g;

/** pm2 runs its JSON as JavaScript, so it may have keys without quotes, and texts in single quotes. */
function withJsonQuotes(text: string): string {
  return text.replace(LITERAL_PIECE, (whole, single?: string, key?: string, colon?: string) => {
    if (colon !== undefined) return `${JSON.stringify(key)}${colon}`;
    if (single === undefined) return whole;
    return `"${single.replace(/\\[\s\S]|"/g, (found) => (found === '"' ? '\\"' : found === "\\'" ? "'" : found))}"`;
  });
}

function kindOf(data: unknown, shownAs: string): SourceKind | undefined {
  if (Array.isArray(data)) return "pm2";
  if (!isObject(data)) return undefined;
  if (isObject(data.services)) return "compose";
  if (isObject(data.processes)) return "process-compose";
  if (Array.isArray(data.processes))
    throw new ProcmanError(
      "configuration-invalid",
      `Cannot import ${shownAs}: it is already a procman configuration; \`procman validate\` checks it`,
    );
  return data.apps !== undefined || data.pm2 !== undefined || data.script !== undefined ? "pm2" : undefined;
}
