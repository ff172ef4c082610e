/** `package.json`: its scripts, and the package manager that runs them. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ProcmanError } from "../base/errors.ts";
import { isObject } from "../base/schema-check.ts";
import { parseDocument, withoutBom } from "./document.ts";

/** By the lock file of the package, or of the workspace above it; pnpm's workspace has a file before that. */
const LOCK_FILES = {
  "pnpm-workspace.yaml": "pnpm",
  "package-lock.json": "npm",
  "pnpm-lock.yaml": "pnpm",
  "yarn.lock": "yarn",
  "bun.lock": "bun",
  "bun.lockb": "bun",
} as const;

export function managerOf(folder: string): string {
  const given = packageIn(folder)?.packageManager;
  const [, named] = typeof given === "string" ? (/^(npm|pnpm|yarn|bun)@/.exec(given) ?? []) : [];
  if (named !== undefined) return named;
  const locks = Object.entries(LOCK_FILES).flatMap(([file, manager]) => {
    const home = nearest(folder, file);
    return home === undefined ? [] : [{ home, manager }];
  });
  return locks.sort((a, b) => b.home.length - a.home.length)[0]?.manager ?? "npm";
}

/** The folder, or the nearest one above it, with this file. */
export function nearest(folder: string, file: string): string | undefined {
  if (existsSync(join(folder, file))) return folder;
  return dirname(folder) === folder ? undefined : nearest(dirname(folder), file);
}

export function scriptsIn(folder: string): readonly string[] {
  const scripts = packageIn(folder)?.scripts;
  return isObject(scripts) ? Object.keys(scripts).filter((name) => typeof scripts[name] === "string") : [];
}

/** The name without its scope. */
export function packageName(own: Readonly<Record<string, unknown>> | undefined): string | undefined {
  return typeof own?.name === "string" ? own.name.replace(/^@[^/]*\//, "") : undefined;
}

/** @throws {ProcmanError} `configuration-invalid`: it isn't JSON */
export function packageIn(folder: string): Readonly<Record<string, unknown>> | undefined {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return undefined;
  const text = withoutBom(readFileSync(file, "utf8"));
  try {
    const own: unknown = JSON.parse(text);
    return isObject(own) ? own : undefined;
  } catch (cause) {
    // Comments are none of its faults there.
    const [fault] = parseDocument(text).syntax;
    const why = fault === undefined ? (cause as Error).message : fault.message;
    const place = fault === undefined ? "" : `:${fault.line}:${fault.column}`;
    throw new ProcmanError("configuration-invalid", `Cannot read ${file}${place}: ${why}`, { cause });
  }
}
