/** Name and state folder of a configuration file, without checking the file: what clients need to find procman. */
import { dirname, join, resolve } from "node:path";
import { parse } from "jsonc-parser";
import { read } from "./config-file.ts";
import { withoutBom } from "./document.ts";

export type Location = { readonly name: string; readonly stateDir: string };

/** Used when the file has no name. */
export const DEFAULT_NAME = "procman";

/** @throws {ProcmanError} `configuration-missing` */
export function locate(path: string | undefined, cwd: string): Location {
  const { file, text } = read(path, cwd);
  const data: unknown = parse(withoutBom(text));
  const given = typeof data === "object" && data !== null && "name" in data ? data.name : undefined;
  const name = typeof given === "string" ? given : DEFAULT_NAME;
  return { name, stateDir: stateDirOf(dirname(file), name) };
}

/** The state folder for a configuration of this name in this folder. */
export function stateDirOf(folder: string, name: string): string {
  const root = process.env.PROCMAN_STATE_DIR;
  return root ? resolve(root, name) : join(folder, ".procman", name);
}
