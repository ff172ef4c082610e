/** Edits configuration files: atomic writes, validation before writing, warnings, and questions at the terminal. */
import { promises as fs } from "node:fs";
import { resolve } from "node:path";
import { ProcmanError } from "../core/base/errors.ts";
import { type ConfigText, readFound } from "../core/config/config-file.ts";
import type { Sources } from "../core/config/document.ts";
import { check } from "../core/config/load.ts";
import { ConfigurationError, filesOf, renderProblems } from "../core/config/problems.ts";
import type { Config } from "../core/config/spec.ts";
import { wantsColors } from "../core/os/colors.ts";
import { replaceText } from "../core/os/edited-file.ts";

/** Replaces the content of a file atomically; keeps mode and owner, and follows a symbolic link. */
export async function replaceFile(file: string, text: string): Promise<void> {
  await withFileErrors(file, async () => replaceText(file, text));
}

/** Creates a file that must not exist yet. */
export async function createFile(file: string, text: string): Promise<void> {
  await withFileErrors(file, () => write(file, text));
}

async function write(file: string, text: string): Promise<void> {
  const handle = await fs.open(file, "wx");
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: "its folder does not exist",
  ENOTDIR: "a part of the path is not a folder",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space left",
  EISDIR: "it is a folder",
};

/** @throws {ProcmanError} with the reason, for an error of the file system */
export async function withFileErrors<Result>(file: string, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    const { code = "", message } = cause as NodeJS.ErrnoException;
    if (code === "EEXIST") throw new ProcmanError("file-exists", `Cannot write ${file}: it already exists`, { cause });
    throw new ProcmanError("configuration-missing", `Cannot write ${file}: ${REASONS[code] ?? message}`, { cause });
  }
}

/**
 * Validates the edited text, of the main file or one that it includes, before it is written. The error shows the edited
 * text, which is not stored anywhere.
 *
 * @throws {ProcmanError} `configuration-invalid`
 */
export function checkEdited(what: string, main: ConfigText, edited: ConfigText): Config {
  try {
    return edited.file === main.file ? check(edited) : check(main, { edited });
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const { problems, sources } = error;
    const reason = `${edited.shownAs} would become invalid, so it stays unchanged`;
    throw new ProcmanError(
      "configuration-invalid",
      `Cannot ${what}: ${reason}\n\n${renderProblems(problems, sources)}`,
    );
  }
}

export function isValid(source: ConfigText): boolean {
  try {
    check(source);
    return true;
  } catch (error) {
    if (error instanceof ConfigurationError) return false;
    throw error;
  }
}

/** Prints the warnings of a configuration to standard error, if there are any. `main`: its file, if that was read already. */
export function printWarnings({ warnings }: Config, main?: ConfigText): void {
  if (warnings.length === 0) return;
  const colors = wantsColors(process.stderr);
  const count = warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`;
  process.stderr.write(
    `${filesOf(warnings)}: ${count}\n\n${renderProblems(warnings, sourcesOf(warnings, main), { colors })}\n`,
  );
}

function sourcesOf(warnings: Config["warnings"], main: ConfigText | undefined): Sources {
  const texts = new Map(main === undefined ? [] : [[main.shownAs, main.text]]);
  for (const { file } of warnings) if (!texts.has(file)) texts.set(file, readFound(resolve(file), file)?.text ?? "");
  return texts;
}

export type YesNoQuestion = {
  readonly text: string;
  /** Used for an empty answer; without a default the question is repeated. */
  readonly default?: string;
  /** Why an answer is not accepted; undefined if it is. */
  readonly refuse?: (answer: string) => string | undefined;
};

export type TerminalStreams = { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream };

/**
 * Asks the questions in order; undefined if the input ends (Ctrl-D).
 *
 * @throws {ProcmanError} `interrupted` on Ctrl-C
 */
export async function ask(
  questions: readonly YesNoQuestion[],
  { input, output }: TerminalStreams,
): Promise<readonly string[] | undefined> {
  const lines = process.getBuiltinModule("node:readline/promises").createInterface({ input, output });
  const ended = new Promise<undefined>((resolve, reject) => {
    lines.once("close", () => resolve(undefined));
    lines.once("SIGINT", () => {
      output.write("\n");
      reject(new ProcmanError("interrupted", "Cannot continue: Ctrl-C was pressed; nothing is written"));
    });
  });
  try {
    const answers: string[] = [];
    for (const question of questions) {
      const answer = await answerTo(question, (text) => Promise.race([lines.question(text), ended]), output);
      if (answer === undefined) return undefined;
      answers.push(answer);
    }
    return answers;
  } finally {
    lines.close();
  }
}

async function answerTo(
  question: YesNoQuestion,
  read: (text: string) => Promise<string | undefined>,
  output: NodeJS.WritableStream,
): Promise<string | undefined> {
  const prompt = `${question.text}${question.default === undefined ? "" : ` (${question.default})`}: `;
  for (;;) {
    const written = await read(prompt);
    if (written === undefined) return undefined;
    const answer = written.trim() || question.default;
    const reason = answer === undefined ? "An answer is needed" : question.refuse?.(answer);
    if (answer !== undefined && reason === undefined) return answer;
    output.write(`${reason}.\n`);
  }
}
