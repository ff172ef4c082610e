/** What the argument of `procman deploy` stands for. */
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { isAbsolute, resolve } from "node:path";
import { ProcmanError } from "../core/base/errors.ts";
import type { DeployOrder } from "../core/contract/deployment-record.ts";
import { startFolder } from "../core/os/start-folder.ts";

const ARCHIVE = /\.(?:tar|tgz|tar\.\w+)$/;

type Options = { readonly host?: string | undefined; readonly onHost?: boolean };

/** @throws {ProcmanError} `usage`, `deploy-refused` */
export function orderFor(source: string, { host, onHost = false }: Options): DeployOrder {
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
  if (stat === undefined || (isPlain && stat.isDirectory() && isRef(source, folder))) {
    if (stat !== undefined)
      throw new ProcmanError(
        "usage",
        `Cannot deploy "${source}": it is a folder and a name in Git; write "./${source}" or "refs/heads/${source}"`,
      );
    if (ARCHIVE.test(source) || !isPlain)
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

function isRef(name: string, folder: string): boolean {
  try {
    execFileSync("git", ["-C", folder, "rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`], {
      stdio: "ignore",
    });
    return true;
  } catch {
    return false;
  }
}
