/** The words of a service, and the command line of one that runs on this host. */
import type { ComposeService } from "./compose-service.ts";
import { scalarText } from "./foreign-fields.ts";
import { type ForeignText, interpolated, shellWord, splitText, splitVariables } from "./foreign-text.ts";
import { splitWords, UnclosedQuote } from "./shell-words.ts";

/** undefined: nothing says what to run. `entrypoint` of the service replaces both of the Dockerfile. */
export function hostCommand(service: ComposeService): string | undefined {
  const { entrypoint: builtEntry = [], command: built = [] } = service.dockerfile;
  const entrypoint = wordsOf(service, "entrypoint");
  const command = wordsOf(service, "command");
  const words = [
    ...(entrypoint ?? builtEntry.map((word) => [word])),
    ...(command ?? (entrypoint === undefined ? built.map((word) => [word]) : [])),
  ];
  return words.length === 0 ? undefined : words.map(shellWord).join(" ");
}

/** `entrypoint` or `command`. */
export function wordsOf({ draft, fields }: ComposeService, name: string): readonly ForeignText[] | undefined {
  const given = fields.any(name);
  // A shell has what procman's values have not, but for a default in a default.
  const lost = (what: string): unknown =>
    what.lastIndexOf("${") > 0 && draft.note(name, `${what} has a variable in a default: write what it stands for`);
  if (Array.isArray(given)) return given.map((word) => interpolated(scalarText(word), lost));
  if (typeof given !== "string") return undefined;
  try {
    return splitText(interpolated(given, lost), (plain) => splitWords(plain, { ofPlain: splitVariables }));
  } catch (error) {
    if (!(error instanceof UnclosedQuote)) throw error;
    draft.note(name, `can't be split into words: ${error.message}`);
    return undefined;
  }
}
