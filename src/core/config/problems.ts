/** Problems of a configuration: the error that carries them, and how they are shown. */
import { ProcmanError } from "../base/errors.ts";
import { printable } from "../base/printable.ts";
import { codeFrame, sourceLines } from "./code-frame.ts";
import { type Document, type JsonPath, type Sources, showPath } from "./document.ts";
import type { ConfigProblem } from "./spec.ts";

export type RenderOptions = { readonly colors?: boolean };

/**
 * A configuration that can't be used. `problems` has all problems, `message` shows them.
 *
 * @example
 * try {
 *   validateConfiguration(text);
 * } catch (error) {
 *   if (!(error instanceof ConfigurationError)) throw error;
 *   for (const { path, message } of error.problems) console.error(path, message);
 * }
 */
export class ConfigurationError extends ProcmanError {
  readonly problems: readonly ConfigProblem[];
  /** Texts of the files, to render the problems again (in colors, say). Empty when there was no text. */
  readonly sources: Sources;

  constructor(problems: readonly ConfigProblem[], sources: Sources = new Map()) {
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    const faults = problems.map(({ file: name, line, column, path, message }) => ({
      place: line === 0 ? path : `${name}:${line}:${column} ${path}`.trimEnd(),
      message,
    }));
    super(
      "configuration-invalid",
      `Cannot use ${filesOf(problems)}: ${count}\n\n${renderProblems(problems, sources)}`,
      { faults },
    );
    this.name = "ConfigurationError";
    this.problems = problems;
    this.sources = sources;
  }
}

/** The file of the problems, if they are all in one. */
export function filesOf(problems: readonly ConfigProblem[]): string {
  const [file, ...others] = new Set(problems.map((problem) => problem.file));
  return others.length === 0 && file ? file : "the configuration";
}

/** A warning in one line, with its place. */
export function warningLine({ file, line, column, message }: ConfigProblem): string {
  return `${file}:${line}:${column}: ${message}`;
}

/**
 * Each problem with its place, the line of the source with carets, and what to do; a blank line between two.
 *
 * @example
 * console.error(renderProblems(error.problems, error.sources, { colors: process.stderr.isTTY }));
 */
export function renderProblems(
  problems: readonly ConfigProblem[],
  sources: Sources,
  options: RenderOptions = {},
): string {
  const paint: ProblemPainter = options.colors ? (code, text) => `\u001b[${code}m${text}\u001b[0m` : (_, text) => text;
  // Split once: a file may have thousands of problems.
  const lines = new Map([...sources].map(([file, text]) => [file, sourceLines(text)]));
  return problems.map((problem) => render(problem, lines.get(problem.file) ?? [], paint)).join("\n\n");
}

type ProblemPainter = (code: number, text: string) => string;

function render(problem: ConfigProblem, lines: readonly string[], paint: ProblemPainter): string {
  // What is written in the file: JSON in a message leaves DEL and C1 as they are.
  const path = printable(problem.path);
  const message = printable(problem.message);
  if (problem.line === 0) return `${paint(1, path || "(top level)")}\n  ${message}`;
  const place = `${printable(problem.file)}:${problem.line}:${problem.column}`;
  const head = path === "" ? paint(36, place) : `${paint(36, place)} ${paint(1, path)}`;
  const frame = codeFrame(lines, problem.line, problem.column);
  const margin = `${problem.line} | `;
  const below = `${" ".repeat(margin.length - 2)}| `;
  return `${head}\n  ${paint(2, margin)}${frame.text}\n  ${paint(2, below)}${paint(31, frame.carets)}\n  ${message}`;
}

/** A problem at a path of the data, before its place in the text is known. */
export type Finding = {
  readonly path: JsonPath;
  readonly message: string;
  /** Point at the key instead of the value. */
  readonly at?: "key";
  /** The key that is meant by an unknown one. */
  readonly meant?: string;
};

/** Message for a value that is not allowed: what was found, what is allowed, and a hint. */
export function notAllowed(found: unknown, allowed: string, hint = ""): string {
  return `Found ${show(found)}; allowed: ${allowed}.${hint}`;
}

/** A value for a message: short, and never a whole object. */
export function show(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return typeof value === "function" ? "a function" : String(value);
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 59)}…` : value);
}

/** Findings as problems with file, line and column. */
export function placed(findings: readonly Finding[], document: Document): readonly ConfigProblem[] {
  const problems = findings.map(({ path, message, at }) => {
    const place = document.place(path, at);
    return { ...place, path: showPath(place.path), message };
  });
  return inOrder(problems, document.sources);
}

/** In the order of the files and of their lines. */
export function inOrder(problems: readonly ConfigProblem[], sources: Sources): readonly ConfigProblem[] {
  const files = [...sources.keys()];
  return problems.toSorted(
    (a, b) => files.indexOf(a.file) - files.indexOf(b.file) || a.line - b.line || a.column - b.column,
  );
}

/** How messages name the place of another value: its path, with file and line if there are several files. */
export type NameOf = (path: JsonPath) => string;

export function namesOf({ sources, place }: Document): NameOf {
  return (path) => {
    const { file, line, column, path: own } = place(path);
    return sources.size > 1 ? `${file}:${line}:${column} ${showPath(own)}` : showPath(own);
  };
}
