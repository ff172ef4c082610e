/** Writes the files of an export into a folder, without replacing what others have written. */
import { promises as fs } from "node:fs";
import { join } from "node:path";
import { ProcmanError } from "../core/base/errors.ts";
import { readFound } from "../core/config/config-file.ts";
import { type ExportedFile, MARKER } from "../satellites/export/workload.ts";
import { replaceFile, withFileErrors } from "./edit-file.ts";

/** Bytes at the beginning of a file, in which the marker is. */
const HEAD_LENGTH = 1_000;

/**
 * @returns one line for each file: what was done with it; and for files of earlier exports that are not part of this
 * one
 * @throws {ProcmanError} `file-exists`: files that are not of an export; then nothing is written
 */
export async function writeExported(
  folder: string,
  files: readonly ExportedFile[],
  force: boolean,
): Promise<readonly string[]> {
  await withFileErrors(folder, () => fs.mkdir(folder, { recursive: true }));
  const before = new Map(files.map(({ name }) => [name, readFound(join(folder, name), name)?.text]));
  const foreign = files.filter(({ name }) => !isExported(before.get(name))).map(({ name }) => name);
  if (foreign.length > 0 && !force) {
    const what = foreign.length === 1 ? "it is not an earlier export" : "they are not earlier exports";
    throw new ProcmanError(
      "file-exists",
      `Cannot replace ${foreign.join(", ")} in ${folder}: ${what}. Move them away, or use --force`,
    );
  }
  const lines = await Promise.all(
    files.map(
      async ({ name, text }) => `${await write(join(folder, name), text, before.get(name))} ${join(folder, name)}`,
    ),
  );
  const rest = await withFileErrors(folder, () => leftOver(folder, files));
  return [...lines, ...rest.map((file) => `not part of this export any more: ${file}`)];
}

/** Absent, or of an export. */
function isExported(text: string | undefined): boolean {
  return text === undefined || text.slice(0, HEAD_LENGTH).includes(MARKER);
}

async function write(file: string, text: string, before: string | undefined): Promise<string> {
  if (before === text) return "unchanged";
  await (before === undefined
    ? withFileErrors(file, () => fs.writeFile(file, text, { flag: "wx" }))
    : replaceFile(file, text));
  return before === undefined ? "created  " : "replaced ";
}

async function leftOver(folder: string, files: readonly ExportedFile[]): Promise<readonly string[]> {
  const written = new Set(files.map(({ name }) => name));
  const others = (await fs.readdir(folder, { withFileTypes: true })).filter(
    (entry) => entry.isFile() && !written.has(entry.name),
  );
  const found = await Promise.all(others.map(async ({ name }) => ({ name, head: await headOf(join(folder, name)) })));
  return found.filter(({ head }) => head.includes(MARKER)).map(({ name }) => join(folder, name));
}

async function headOf(file: string): Promise<string> {
  const handle = await fs.open(file, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_LENGTH), 0, HEAD_LENGTH, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await handle.close();
  }
}
