/** Expressions of supervisord: `%(program_name)s`, `%(process_num)02d`, `%(ENV_NAME)s`. */
import { hostname } from "node:os";
import { ownMember } from "../../core/base/interpolate.ts";
import { type ForeignText, type Reference, variable } from "./foreign-text.ts";

export type Expansion = {
  readonly here: string;
  readonly name: string;
  readonly group: string;
  readonly count: number;
  /** `numprocs_start` */
  readonly start: number;
  /** Port of the first instance, if a number of the file is one. */
  readonly startPort: number | undefined;
  /** `environment` of `[supervisord]`, which `%(ENV_NAME)s` has, too. */
  readonly variables: Readonly<Record<string, ForeignText>>;
};

const EXPRESSION = /(?<!\d)(\d*)%(?:\((\w+)\)(0?\d*)[sd]|(%))/g;

/** Replaces the expressions of a text. `unknown` gets those that it can't replace. */
export function expandedBy(
  expansion: Expansion,
  unknown: (what: string) => void = () => undefined,
): (text: string) => ForeignText {
  return (text) => {
    const pieces: (string | Reference)[] = [];
    let end = 0;
    for (const found of text.matchAll(EXPRESSION)) {
      const [whole, digits = "", name = "", width = "", percent] = found;
      pieces.push(text.slice(end, found.index));
      end = found.index + whole.length;
      if (percent !== undefined) pieces.push(`${digits}%`);
      else pieces.push(...expanded({ digits, name, width, whole }, expansion, unknown));
    }
    return [...pieces, text.slice(end)].filter((piece) => piece !== "");
  };
}

type FoundExpression = {
  readonly digits: string;
  readonly name: string;
  readonly width: string;
  readonly whole: string;
};

function expanded(
  { digits, name, width, whole }: FoundExpression,
  expansion: Expansion,
  unknown: (what: string) => void,
): ForeignText {
  const { here, name: program, group, count, start, startPort, variables } = expansion;
  if (name === "process_num" && count > 1 && digits !== "" && startPort !== undefined)
    return [{ shell: "{port}", value: "{port}" }];
  const values: Readonly<Record<string, string | Reference>> = {
    here,
    program_name: program,
    group_name: group,
    host_node_name: hostname(),
    numprocs: String(count),
    process_num: count > 1 ? numbered(start, width) : padded(start, width),
  };
  const given = name.startsWith("ENV_") ? ownMember(variables, name.slice("ENV_".length)) : undefined;
  if (given !== undefined) return [digits, ...given];
  const value = name.startsWith("ENV_")
    ? variable(name.slice("ENV_".length))
    : Object.hasOwn(values, name)
      ? values[name]
      : undefined;
  if (value === undefined) unknown(whole);
  return [digits, value ?? whole];
}

function padded(number: number, width: string): string {
  return String(number).padStart(Number(width) || 0, width.startsWith("0") ? "0" : " ");
}

/** procman counts instances from 1 in `{instance}`, and from 0 in a variable. */
function numbered(start: number, width: string): Reference {
  const plain = width === "" || width === "0";
  const number = start === 0 ? "PROCMAN_CLUSTER_INSTANCE" : `PROCMAN_CLUSTER_INSTANCE+${start}`;
  const shell = plain ? `$((${number}))` : `$(printf %${width}d $((${number})))`;
  if (start === 1 && plain) return { shell: "{instance}", value: "{instance}" };
  return start === 0 && plain
    ? { shell: "$PROCMAN_CLUSTER_INSTANCE", value: "${PROCMAN_CLUSTER_INSTANCE}" }
    : { shell, value: "{instance}", isRough: true };
}

/** The variable of a reference: it is one of procman's environment. */
const OF_ENVIRONMENT = /^\$\{((?!PROCMAN_CLUSTER_)[A-Za-z_]\w*)\}$/;

export function isOfEnvironment({ value }: Reference): boolean {
  return OF_ENVIRONMENT.test(value);
}

/** A text in which the program's own variables are filled in. */
export function withOwn(pieces: ForeignText, own: Readonly<Record<string, ForeignText>>): ForeignText {
  return pieces.flatMap((piece) => {
    const name = typeof piece === "string" ? undefined : OF_ENVIRONMENT.exec(piece.value)?.[1];
    return (name === undefined ? undefined : ownMember(own, name)) ?? [piece];
  });
}

/** A text as it is at this moment, and the variables which that depends on. `text` is undefined if one of them isn't set. */
export function textNow(
  pieces: ForeignText,
  variables: Readonly<Record<string, string | undefined>>,
): { readonly text: string | undefined; readonly names: readonly string[] } {
  const names: string[] = [];
  const texts = pieces.map((piece) => {
    const name = typeof piece === "string" ? undefined : OF_ENVIRONMENT.exec(piece.value)?.[1];
    if (name === undefined) return typeof piece === "string" ? piece : piece.value;
    names.push(name);
    return ownMember(variables, name);
  });
  return { text: texts.includes(undefined) ? undefined : texts.join(""), names };
}

export const instanceNumber = {
  /** The port of the first instance, if the file has one such as `80%(process_num)02d`. */
  port(text: string, start: number): number | undefined {
    const [, digits = "", width = ""] = /(?<![\d.])(\d{1,4})%\(process_num\)(0?\d*)d/.exec(text) ?? [];
    const port = Number(`${digits}${padded(start, width)}`);
    return digits !== "" && port >= 1_024 && port <= 65_535 ? port : undefined;
  },
};
