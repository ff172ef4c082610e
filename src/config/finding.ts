/** Something wrong at a path of the data, before it has a place in a text. */
import { type Document, type Path, showPath } from "./document.ts";
import type { Problem } from "./spec.ts";

export type Finding = {
  readonly path: Path;
  readonly message: string;
  /** Point at the key instead of the value. */
  readonly at?: "key";
};

/** Sentence for a value that is not allowed: what was found, what is allowed, what was perhaps meant. */
export function notAllowed(found: unknown, allowed: string, hint = ""): string {
  return `Found ${show(found)}; allowed: ${allowed}.${hint}`;
}

/** A value in a message: short, and never a whole object. */
export function show(value: unknown): string {
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (typeof value === "object" && value !== null) return "an object";
  if (typeof value !== "string") return typeof value === "function" ? "a function" : String(value);
  return JSON.stringify(value.length > 60 ? `${value.slice(0, 59)}…` : value);
}

/** Findings as problems with file, line and column, in the order of the file. */
export function placed(findings: readonly Finding[], document: Document, file: string): readonly Problem[] {
  const problems = findings.map(({ path, message, at }) => ({
    file,
    ...document.place(path, at),
    path: showPath(document.origin?.(path) ?? path),
    message,
  }));
  return problems.sort((a, b) => a.line - b.line || a.column - b.column);
}
