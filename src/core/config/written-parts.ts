/** The processes of a configuration as they are written in its files. Loaded on use. */
import { ProcmanError } from "../base/errors.ts";
import type { WrittenPart } from "../contract/definition-record.ts";
import { startFolder } from "../os/start-folder.ts";
import { displayPath, readFound } from "./config-file.ts";
import { processTexts } from "./edit/edit.ts";
import { withoutSecrets } from "./hidden-values.ts";
import { filesOf } from "./load.ts";
import { ConfigurationError } from "./problems.ts";

/**
 * By id: what the file at this path, and those that it includes, have now. Nothing of a file that can't be read or has
 * no list of processes: a plan says what is wrong with it.
 */
export function writtenParts(path: string): ReadonlyMap<string, WrittenPart> {
  const parts = new Map<string, WrittenPart>();
  for (const { file, text } of readable(() => readAll(path)) ?? [])
    for (const [id, written] of readable(() => processTexts(text)) ?? [])
      if (!parts.has(id)) parts.set(id, { file, line: written.line, text: withoutSecrets(written.text) });
  return parts;
}

function readAll(path: string): ReturnType<typeof filesOf> {
  const main = readFound(path, displayPath(path, startFolder(path)));
  return main === undefined ? [] : filesOf(main);
}

/** undefined: a problem of the file, which a plan reports. */
function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof ProcmanError || error instanceof ConfigurationError) return undefined;
    throw error;
  }
}
