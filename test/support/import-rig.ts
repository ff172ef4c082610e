/** Imports files of other process managers in a folder of the test. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parse } from "jsonc-parser";
import { check } from "../../src/core/config/load.ts";
import { importFiles } from "../../src/satellites/import/importer.ts";
import type { SourceKind } from "../../src/satellites/import/source-kinds.ts";

type Context = { readonly after: (call: () => void | Promise<void>) => void };

export type ImportedProcess = Readonly<Record<string, unknown>> & { readonly id: string };

export type ImportResult = {
  readonly folder: string;
  readonly text: string;
  /** What is written, without comments. */
  readonly config: { readonly processes: readonly ImportedProcess[]; readonly [field: string]: unknown };
  /** As `ID field: advice`; of the top level without the id. */
  readonly notes: readonly string[];
  readonly dropped: readonly string[];
};

/** `end`: ends what runs in the folder, before that is removed. */
export function folderOfFiles(
  context: Context,
  files: Readonly<Record<string, string>>,
  end?: () => Promise<void>,
): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "procman-import-")));
  context.after(async () => {
    await end?.();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** Imports the files of `files` whose names are `paths` (default: the first one), and checks that the result is valid. */
export async function importOf(
  context: Context,
  files: Readonly<Record<string, string>>,
  paths: readonly string[] = Object.keys(files).slice(0, 1),
  kind?: SourceKind,
): Promise<ImportResult> {
  const folder = folderOfFiles(context, files);
  const file = join(folder, "procman.jsonc");
  const { configuration, text } = await importFiles(paths, { file, cwd: folder, kind });
  check({ file, shownAs: "procman.jsonc", text }, { checksAccounts: false });
  const notes = [
    ...configuration.notes.map(({ field, advice }) => `${field}: ${advice}`),
    ...[...configuration.processes, ...configuration.dropped].flatMap(({ id, notes: own }) =>
      own.map(({ field, advice }) => `${id} ${field}: ${advice}`),
    ),
  ];
  return {
    folder,
    text,
    config: parse(text) as ImportResult["config"],
    notes,
    dropped: configuration.dropped.map(({ name }) => name),
  };
}

/** The ecosystem file of these apps. */
export function ecosystemOf(apps: readonly object[], more: object = {}): string {
  return `module.exports = ${JSON.stringify({ apps, ...more })};`;
}
