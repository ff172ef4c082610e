/** The command line of a service: its own, that of its Dockerfile, or that of a container. */
import { join } from "node:path";
import { isObject } from "../../core/base/schema-check.ts";
import { shellQuote } from "../../core/base/shell-quote.ts";
import { statIfSeen } from "../../core/os/files.ts";
import type { ComposeService } from "./compose-service.ts";
import { scalarText } from "./foreign-fields.ts";
import { type ForeignText, interpolated, shellWord, splitText } from "./foreign-text.ts";
import { splitWords, UnclosedQuote } from "./shell-words.ts";
import { variablesOf } from "./variable-lists.ts";

/** undefined: nothing says what to run. `readText`: reads a file beside the compose file. */
export function serviceCommand(service: ComposeService, readText: (file: string) => string): string | undefined {
  const { draft, fields } = service;
  const given = [wordsOf(service, "entrypoint"), wordsOf(service, "command")];
  const image = fields.text("image");
  const [entrypoint, command] =
    service.context === undefined ? given : withDockerfile(given, dockerfileOf(service, readText));
  const words = [...(entrypoint ?? []), ...(command ?? [])];
  if (words.length === 0) return image === undefined ? undefined : containerOf(service, image);
  if (image !== undefined && service.context === undefined)
    draft.note(
      "image",
      `${image} isn't used: the program must be installed on this host. As a container: "cmd": ${JSON.stringify(`exec docker run --rm ${image}`)}`,
    );
  return words.map(shellWord).join(" ");
}

type Words = readonly ForeignText[] | undefined;

function wordsOf({ draft, fields }: ComposeService, name: string): Words {
  const given = fields.any(name);
  const lost = (what: string): unknown => draft.note(name, `${what} is written as a plain variable`);
  if (Array.isArray(given)) return given.map((word) => interpolated(scalarText(word), lost));
  if (typeof given !== "string") return undefined;
  try {
    return splitText(interpolated(given, lost), splitWords);
  } catch (error) {
    if (!(error instanceof UnclosedQuote)) throw error;
    draft.note(name, `can't be split into words: ${error.message}`);
    return undefined;
  }
}

/** `entrypoint` of the service replaces both of the Dockerfile. */
function withDockerfile(
  [entrypoint, command]: readonly Words[],
  [builtEntry, builtCommand]: readonly Words[],
): readonly Words[] {
  return entrypoint === undefined ? [builtEntry, command ?? builtCommand] : [entrypoint, command];
}

/** The last ENTRYPOINT and CMD of the Dockerfile. */
function dockerfileOf({ fields, context = "" }: ComposeService, readText: (file: string) => string): readonly Words[] {
  const build = fields.any("build");
  const name = isObject(build) && typeof build.dockerfile === "string" ? build.dockerfile : "Dockerfile";
  const file = join(context, name);
  if (statIfSeen(file)?.isFile() !== true) return [undefined, undefined];
  const text = readText(file).replace(/\\\r?\n/g, " ");
  return ["ENTRYPOINT", "CMD"].map((instruction) => {
    const last = [...text.matchAll(new RegExp(`^[ \\t]*${instruction}[ \\t]+(.*)$`, "gim"))].at(-1)?.[1]?.trim();
    return last === undefined ? undefined : instructionWords(last);
  });
}

function instructionWords(text: string): Words {
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list.map((word) => [scalarText(word)]);
  } catch {
    // The form for a shell.
  }
  return [["/bin/sh"], ["-c"], [text]];
}

/** `docker run` passes signals on. */
function containerOf({ draft, fields }: ComposeService, image: string): string {
  const lists = (name: string, flag: string): readonly string[] =>
    [fields.any(name) ?? []]
      .flat()
      .flatMap((entry: unknown) =>
        typeof entry === "string" || typeof entry === "number" ? [flag, String(entry)] : [],
      );
  const names = Object.keys(variablesOf(fields.any("environment"), () => undefined)).flatMap((name) => ["-e", name]);
  const words = [
    "docker",
    "run",
    "--rm",
    "--name",
    draft.id,
    ...lists("ports", "-p"),
    ...lists("volumes", "-v"),
    ...names,
    image,
  ];
  draft.note(
    "image",
    "runs in a container as before, and needs docker; a program that is installed on this host can replace it",
  );
  return `exec ${words.map(shellQuote).join(" ")}`;
}
