/**
 * Puts the files of an earlier configuration back. Of each file that it replaces, the present text stays beside it. What
 * is begun is written down (`STATE/history/rollback.json`), so that a procman that was killed meanwhile goes on, and can
 * still take it back.
 */
import { existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, isAbsolute, join, relative, sep } from "node:path";
import { isNotFound, ProcmanError, reasonOf } from "../base/errors.ts";
import { globTest } from "../base/glob.ts";
import { integer, list, literal, object, optional, string, type TypeOf } from "../base/schema.ts";
import { matches } from "../base/schema-check.ts";
import { type ConfigText, displayPath, readFound } from "../config/config-file.ts";
import { parseDocument, withoutBom } from "../config/document.ts";
import { includesOf } from "../config/include.ts";
import { includedPaths } from "../config/include-patterns.ts";
import { writeWhole } from "../os/careful-files.ts";
import { replaceText, writeLike } from "../os/edited-file.ts";
import { printError } from "../os/error-output.ts";
import { failpoint } from "../os/failpoint.ts";
import { textsOf } from "./history-reader.ts";
import { HistoryStore, hashOf, type KeptText } from "./history-store.ts";
import type { SoundEntry } from "./shown-history.ts";

/** `before`, `after`: digests; absent: there is no file. `copy`: where the present text is. */
const CHANGE = object({
  file: string(),
  before: optional(string()),
  after: optional(string()),
  copy: optional(string()),
});
const NOTE = object({
  format: literal("1"),
  number: integer(),
  profile: optional(string()),
  main: string(),
  /** Number of the deployment that it is part of. */
  deployment: optional(integer()),
  files: list(CHANGE),
});

export type RestoredFile = TypeOf<typeof CHANGE>;

export type Rollback = TypeOf<typeof NOTE>;

export class RollbackFiles {
  readonly #store: HistoryStore;
  readonly #path: string;

  constructor(store: HistoryStore, stateDir: string) {
    this.#store = store;
    this.#path = join(stateDir, "history/rollback.json");
  }

  /**
   * What a rollback does to each file, for a configuration that is at `main` now; the main file comes last. Files that
   * stay as they are are left out.
   *
   * @throws {ProcmanError} `history-damaged`; `configuration-missing`: a file can't be read
   */
  planned(found: SoundEntry, main: string): readonly RestoredFile[] {
    const [first, ...included] = this.textsAt(found, main);
    const patterns = patternsIn(first.text);
    const wanted = [...included, first];
    const others = includedPaths(patterns, dirname(main), main).filter(
      ({ file }) => !wanted.some((each) => each.file === file),
    );
    const files: readonly { readonly file: string; readonly text?: string }[] = [
      ...others.map(({ file }) => ({ file })),
      ...wanted,
    ];
    return files.flatMap(({ file, text: next }) => {
      const before = readFound(file, file)?.text;
      if (before === next) return [];
      return {
        file,
        ...(before !== undefined && { before: hashOf(before), copy: copyOf(file, patterns) }),
        ...(next !== undefined && { after: hashOf(next) }),
      };
    });
  }

  /** The texts of an entry, for a configuration that is at `main` now; that of the main file comes first. @throws {ProcmanError} `history-damaged` */
  textsAt(found: SoundEntry, main: string): readonly [ConfigText, ...ConfigText[]] {
    const [old = { file: main, text: "" }, ...included] = textsOf(found, this.#store);
    const folder = dirname(main);
    const atNow = ({ file, text }: KeptText): ConfigText => {
      const place = placeNow(file, { from: old.file, to: main });
      return { file: place, shownAs: displayPath(place, folder), text };
    };
    return [atNow(old), ...included.map(atNow)];
  }

  /** The rollback that is under way; a note without valid content is none. */
  get underWay(): Rollback | undefined {
    if (!existsSync(this.#path)) return undefined;
    const note = parsed(readFileSync(this.#path, "utf8"));
    return matches(note, NOTE) ? note : undefined;
  }

  /** Replaces the files; what was replaced until an error is taken back. @throws {ProcmanError} `configuration-missing`: a file can't be written */
  begin(rollback: Omit<Rollback, "format">): void {
    const { main, files } = rollback;
    let at = "";
    try {
      for (const { file, copy } of files) {
        at = copy ?? file;
        if (copy !== undefined) writeLike(copy, file, readFileSync(file, "utf8"));
      }
      writeWhole(this.#path, `${JSON.stringify({ format: "1", ...rollback })}\n`);
      failpoint("service.rollback-noted");
      for (const change of files) {
        at = change.file;
        this.#replace(change, main);
        failpoint("service.rollback-begun");
      }
    } catch (cause) {
      const message = `Cannot write ${at}: ${reasonOf(cause)}; ${this.#restored(files)}`;
      throw new ProcmanError("configuration-missing", message, { cause });
    }
  }

  #restored(files: readonly RestoredFile[]): string {
    try {
      restore(files);
      return "the files are as before";
    } catch (error) {
      return `not all files are as before (${reasonOf(error)}), their texts are beside them`;
    } finally {
      this.end();
    }
  }

  /** Goes on where a procman was killed; a file that was changed since is left. Returns whether it has written anything. @throws Error with the problem */
  finish(): boolean {
    if (!existsSync(this.#path)) return false;
    const note = this.underWay;
    if (note === undefined) {
      this.end();
      throw new Error("its note has no valid content");
    }
    const { main, files } = note;
    const left = files.filter(({ file, before }) => isAt(file, before));
    for (const change of left) this.#replace(change, main);
    return left.length > 0;
  }

  /** The files get their text of before; a file that was changed since is left. @throws errors of the file system */
  takeBack(): void {
    try {
      restore(this.underWay?.files ?? []);
    } finally {
      this.end();
    }
  }

  end(): void {
    rmSync(this.#path, { force: true });
  }

  #replace({ file, before, after }: RestoredFile, main: string): void {
    if (after === undefined) return rmSync(file, { force: true });
    const text = this.#store.textOf(after);
    if (before === undefined) writeLike(file, main, text);
    else replaceText(file, text);
  }
}

function restore(changes: readonly RestoredFile[]): void {
  for (const { file, before, after, copy } of changes.toReversed()) {
    const isOld = isAt(file, before);
    if (!isOld && isAt(file, after)) {
      if (before === undefined || copy === undefined) rmSync(file, { force: true });
      else if (after === undefined) renameSync(copy, file);
      else replaceText(file, readFileSync(copy, "utf8"));
    } else if (!isOld) continue;
    if (copy !== undefined && isAt(copy, before)) rmSync(copy, { force: true });
  }
}

/** Completes a rollback in which procman was killed. Returns whether it has written anything. */
export function completeRollback(stateDir: string): boolean {
  const files = new RollbackFiles(new HistoryStore(stateDir), stateDir);
  try {
    const hasWritten = files.finish();
    if (hasWritten) printError("a rollback was cut off: the rest of its files is put back", "warn");
    return hasWritten;
  } catch (error) {
    printError(
      `Cannot complete the rollback that was cut off: ${reasonOf(error)}; the texts of before are beside the files`,
    );
    return false;
  }
}

/** Its `include`, which decides what belongs to the configuration then. */
function patternsIn(text: string): readonly string[] {
  return includesOf(parseDocument(withoutBom(text)).data);
}

/** Where a file of the entry is now: if the configuration was moved, what lies below its folder has moved with it. */
function placeNow(file: string, { from, to }: { readonly from: string; readonly to: string }): string {
  if (file === from) return to;
  const inside = relative(dirname(from), file);
  return inside.startsWith(`..${sep}`) || isAbsolute(inside) ? file : join(dirname(to), inside);
}

/** Beside the file, with a name that the patterns don't find: those with a leading dot need a pattern that has one. */
function copyOf(file: string, patterns: readonly string[]): string {
  const name = `${basename(file)}.before-rollback`;
  const isFound = patterns.some((pattern) => globTest([basename(pattern)])(name));
  return join(dirname(file), isFound ? `.${name}` : name);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `digest` undefined: there is no such file. */
function isAt(file: string, digest: string | undefined): boolean {
  try {
    return hashOf(readFileSync(file)) === digest;
  } catch (error) {
    if (isNotFound(error)) return digest === undefined;
    throw error;
  }
}
