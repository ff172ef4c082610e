/** Paths of the configuration that begin with `~`, as a shell reads them. */
import { homedir } from "node:os";
import { resolve } from "node:path";
import { accountOf } from "./accounts.ts";

const HOME = /^~([^/]*)(?=\/|$)/;

/** The absolute path. `user`: the process's, whose home `~` stands for; otherwise it is the home of procman's user. */
export function pathIn(folder: string, path: string, user?: string | number): string {
  return resolve(folder, withHome(path, user));
}

/** `~` and `~name` become home folders. Without such an account, or its home, the path stays as it is. */
export function withHome(path: string, user?: string | number): string {
  const [prefix, name] = HOME.exec(path) ?? [];
  if (prefix === undefined) return path;
  const owner = name === "" ? user : name;
  const home = owner === undefined ? homedir() : accountOf(owner)?.home;
  return home === undefined ? path : `${home}${path.slice(prefix.length)}`;
}
