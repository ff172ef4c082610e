/** The options `--process` and `--group`, which limit a token. */
import { ProcmanError } from "../core/base/errors.ts";
import { groupNamed, selectorOf, unknownProcess } from "../core/contract/groups.ts";
import type { TokenLimits } from "../core/contract/token-claims.ts";
import { groupNamesInFile, idsInFile } from "./completion-candidates.ts";

export type LimitOptions = {
  readonly config?: string | undefined;
  readonly process?: readonly string[] | undefined;
  readonly group?: readonly string[] | undefined;
};

/** Values of an option that may be repeated, and takes several at once. */
export function listed(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, ...text.split(",").filter((name) => name !== "")];
}

/** `what`: the end of "Cannot …". @throws {ProcmanError} `process-unknown`: the token would see nothing */
export function limitsIn({ process: ids, group: names, config }: LimitOptions, what: string): TokenLimits | undefined {
  if (ids === undefined && names === undefined) return undefined;
  const known = idsInFile(config).map(({ value }) => value);
  const groups = groupNamesInFile(config);
  const named = [
    ...(ids ?? []),
    ...(names ?? []).map((name) => (groupNamed(name) === undefined ? selectorOf(name) : name)),
  ];
  if (named.length === 0)
    throw new ProcmanError("usage", `Cannot ${what}: --process and --group need at least one name`);
  for (const id of named) {
    const isInstance = known.includes(id.replace(/-\d+$/, ""));
    if (!known.includes(id) && !isInstance && !groups.includes(groupNamed(id) ?? ""))
      throw unknownProcess(id, known, groups.map(selectorOf));
  }
  return {
    processes: named.filter((id) => groupNamed(id) === undefined),
    groups: named.flatMap((id) => groupNamed(id) ?? []),
  };
}
