/** Makes a draft valid: what procman refuses becomes a note that says why. */
import { ConfigurationError } from "../../core/config/problems.ts";
import { checkConfiguration } from "../../core/config/validate.ts";
import type { ConfigurationDraft, DraftContent, ProcessDraft } from "./configuration-draft.ts";

/** More than the depth of the schema: each round removes at least one value that is refused. */
const MAX_ROUNDS = 50;

type DraftStep = string | number;

/** First what runs. */
export function membersOf({ id, fields: { cmd, ...others } }: ProcessDraft): Readonly<Record<string, unknown>> {
  return { id, cmd, ...others };
}

/** The configuration as it is written, in the order of its fields. */
export function configurationOf({ fields, processes, profiles }: DraftContent): Readonly<Record<string, unknown>> {
  const { name, ...others } = fields;
  return {
    ...(name !== undefined && { name }),
    ...others,
    processes: processes.map(membersOf),
    ...(profiles.size > 0 && {
      profiles: Object.fromEntries(
        [...profiles].map(([profile, entries]) => [profile, { processes: inDraft(entries, processes) }]),
      ),
    }),
  };
}

function inDraft(
  entries: readonly { readonly draft: ProcessDraft; readonly members: object }[],
  processes: readonly ProcessDraft[],
): readonly object[] {
  return entries
    .filter(({ draft }) => processes.includes(draft))
    .map(({ draft, members }) => ({ id: draft.id, ...members }));
}

/** `file`: the one that will be written, whose folder paths resolve from. */
export function makeValid(configuration: ConfigurationDraft, file: string): void {
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const problems = problemsIn(configuration, { file, checksAccounts: false });
    if (problems.length === 0) return accountNotes(configuration, file);
    // The positions count in the list as it was checked.
    const checked = [...configuration.processes];
    // A problem of a profile may be that of the process which it changes.
    const others = problems.filter(({ path }) => !path.startsWith("profiles"));
    for (const { path, message } of others.length > 0 ? others : problems)
      resolveProblem(configuration, checked, { steps: stepsOf(path), message });
  }
}

/** A user that this machine lacks stays: without it the program would run as root. */
function accountNotes(configuration: ConfigurationDraft, file: string): void {
  for (const { path, message } of problemsIn(configuration, { file })) {
    const [top, index, field] = stepsOf(path);
    const draft = top === "processes" ? configuration.processes[Number(index)] : undefined;
    if (draft === undefined) configuration.note(path, `procman run will refuse it: ${message}`);
    else draft.note(String(field), `stays, and \`procman run\` refuses it until that is corrected: ${message}`);
  }
}

type DraftCheck = { readonly file: string; readonly checksAccounts?: boolean };

/** First without the profiles: with them, a problem of a process may be shown where a profile changes it. */
function problemsIn(configuration: ConfigurationDraft, options: DraftCheck): ConfigurationError["problems"] {
  // As it is written: without what is not JSON.
  const { profiles, ...common } = JSON.parse(JSON.stringify(configurationOf(configuration))) as Readonly<
    Record<string, unknown>
  >;
  try {
    checkConfiguration(common, options);
    if (profiles !== undefined) checkConfiguration({ ...common, profiles }, { ...options, allProfiles: true });
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.problems;
  }
}

function stepsOf(path: string): readonly DraftStep[] {
  return [...path.matchAll(/\.?([A-Za-z_$][\w$]*)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/g)].map(([, name, index, text]) => {
    if (index !== undefined) return Number(index);
    return text === undefined ? (name ?? "") : (JSON.parse(text) as string);
  });
}

type FoundProblem = { readonly steps: readonly DraftStep[]; readonly message: string };

function resolveProblem(
  configuration: ConfigurationDraft,
  checked: readonly ProcessDraft[],
  { steps, message }: FoundProblem,
): void {
  const [top, index, field, ...rest] = steps;
  if (top === "profiles") {
    configuration.profiles.delete(String(index));
    return configuration.note(`profiles.${index}`, `is left out: ${message}`);
  }
  if (top !== "processes" || typeof index !== "number") {
    if (top !== undefined) removeAt(configuration.fields, steps);
    return configuration.note(String(top), refused(message));
  }
  const draft = checked[index];
  if (draft === undefined || !configuration.processes.includes(draft)) return;
  if (field === "id") configuration.rename(draft);
  else if (field === undefined || field === "cmd") configuration.drop(draft, "cmd", refused(message));
  // Without it the program would run as procman's own user, which may be root.
  else if (field === "user" || field === "group") configuration.drop(draft, field, refused(message));
  else if (removeAt(draft.fields, [field, ...rest])) draft.note([field, ...rest].join("."), refused(message));
}

function refused(message: string): string {
  return `procman refuses the value: ${message}`;
}

/** Removes the value, and what contained only it. False: it is gone already. */
function removeAt(container: Record<string, unknown>, steps: readonly DraftStep[]): boolean {
  const [step, ...rest] = steps;
  if (step === undefined) return false;
  const value = container[step];
  if (value === undefined) return false;
  if (rest.length === 0 || typeof value !== "object" || value === null) {
    delete container[step];
    return true;
  }
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
  const isRemoved = removeAt(copy, rest);
  // The path leads to something that is missing: then the whole is refused.
  if (!isRemoved) delete container[step];
  else if (Object.values(copy).length === 0) delete container[step];
  else
    container[step] = Array.isArray(value)
      ? (copy as unknown as unknown[]).filter((entry) => entry !== undefined)
      : copy;
  return true;
}
