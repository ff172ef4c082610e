/** What the argument of `procman deploy` stands for. */
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { ProcmanError } from "../core/base/errors.ts";
import type { DeployOrder } from "../core/contract/deployment-record.ts";
import { startFolder } from "../core/os/start-folder.ts";

/** Git has no such name. */
const NO_REF = /^-|[\p{Cc} ]/u;
const ARCHIVE = /\.(?:tar|tgz|tar\.\w+)$/;

type Options = { readonly host?: string | undefined; readonly onHost?: boolean };

/** @throws {ProcmanError} `usage`, `deploy-refused` */
export function orderFor(source: string, { host, onHost = false }: Options): DeployOrder {
  // An unset variable of a script isn't the folder here.
  if (source === "") throw new ProcmanError("usage", 'Cannot deploy "": it is empty; "." is the folder here');
  if (onHost) return orderOnHost(source);
  const remedy = host === undefined ? "" : ` on this machine; what is on ${host} needs --on-host`;
  return orderHere(source, remedy);
}

/** What is there wins over a name in Git, unless it could be both. */
function orderHere(source: string, remedy: string): DeployOrder {
  const folder = startFolder();
  const path = resolve(folder, source);
  const stat = statSync(path, { throwIfNoEntry: false });
  const isPlain = !/^(?:\.{0,2}\/|\.{1,2}$)/.test(source);
  const ref = isPlain && stat?.isDirectory() ? fullRef(source, folder) : undefined;
  if (stat === undefined || ref !== undefined) {
    if (stat !== undefined)
      throw new ProcmanError(
        "usage",
        `Cannot deploy "${source}": it is a folder and a name in Git; write "./${source}" or "${ref}"`,
      );
    if (ARCHIVE.test(source) || !isPlain || NO_REF.test(source))
      throw new ProcmanError("deploy-refused", `Cannot deploy: there is no ${path}${remedy}`);
    return { ref: source, repository: folder };
  }
  return stat.isDirectory() ? { folder: path } : { tarball: path };
}

/** Its name tells what it is. */
function orderOnHost(source: string): DeployOrder {
  if (!isAbsolute(source))
    throw new ProcmanError("usage", `Cannot deploy "${source}": with --on-host it must be an absolute path`);
  return ARCHIVE.test(source) ? { tarball: source } : { folder: source };
}

/** Its name that can't be a folder, such as `refs/tags/v1.4`, or the id of its commit; undefined: Git doesn't know it. */
function fullRef(name: string, folder: string): string | undefined {
  const parsed = (...words: readonly string[]): string =>
    execFileSync("git", ["-C", folder, "rev-parse", "--verify", "--quiet", ...words], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    }).trim();
  try {
    const commit = parsed("--end-of-options", `${name}^{commit}`);
    return parsed("--symbolic-full-name", "--end-of-options", name) || commit;
  } catch {
    return undefined;
  }
}
