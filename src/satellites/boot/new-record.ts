/** Collects what a start at boot needs: Node, procman, user, environment; and refuses what must not be started then. */
import { existsSync, readdirSync, realpathSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { errnoOf, ProcmanError } from "../../core/base/errors.ts";
import { accountOf } from "../../core/config/checks/accounts.ts";
import { changeableByOthers } from "../../core/os/path-trust.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import type { BootRecord, BootScope } from "./boot-record.ts";
import { initSystemFor } from "./init-systems.ts";

export type BootRequest = {
  readonly scope: BootScope;
  /** The init system. undefined: that of this machine. */
  readonly init?: string;
  /** Name of the procman. */
  readonly name: string;
  /** The configuration file. */
  readonly config: string;
  /** Files that it includes, and folders in which it looks for such. */
  readonly included?: readonly string[];
  /** `dist/procman.cjs`. */
  readonly script: string;
  readonly profile?: string;
  /** User to run it as; undefined: the caller. */
  readonly runAs?: string;
  readonly serviceDir?: string;
};

/** Links that stay when Node is updated. */
const STABLE_NODES = ["/usr/bin/node", "/usr/local/bin/node", "/opt/homebrew/bin/node"];

/** A script, a unit and a crontab hold one line. */
const CONTROL_CHARACTER = /\p{Cc}/u;

/** Yarn makes it for one command. */
const YARN_FOLDER = /\/xfs-[0-9a-f]+$/;

/** The names that all init systems take. */
const USER_NAME = /^(?!\d+$)\w[\w.@-]*$/;

/** @throws {ProcmanError} `usage`, `boot-refused` */
export function newRecord({
  included = [],
  scope,
  init,
  name,
  config,
  script,
  profile,
  runAs,
  serviceDir,
}: BootRequest): BootRecord {
  const { user, home } = accountFor(scope, runAs);
  const node = stableNode();
  const stateRoot = process.env.PROCMAN_STATE_DIR;
  const record: BootRecord = {
    init: initSystemFor(scope, init),
    scope,
    name,
    config,
    node,
    script,
    user,
    home,
    path: pathWith(node, user),
    ...(profile === undefined ? {} : { profile }),
    // The launcher starts in another folder.
    ...(stateRoot ? { stateRoot: resolve(startFolder(stateRoot), stateRoot) } : {}),
    ...(serviceDir === undefined ? {} : { serviceDir: resolve(startFolder(serviceDir), serviceDir) }),
  };
  for (const [what, text] of Object.entries({
    config,
    node,
    script,
    home,
    PROCMAN_STATE_DIR: stateRoot ?? "",
    "--service-dir": serviceDir ?? "",
  }))
    if (CONTROL_CHARACTER.test(text))
      throw new ProcmanError(
        "boot-refused",
        `Cannot install: the path ${JSON.stringify(text)} (${what}) has a line break or another control character; rename it`,
      );
  if (scope === "system" && user === "root")
    refuseUntrusted([record.config, ...included, node, script], filesBeside(script));
  return record;
}

/** The bundles of procman, and their compiled code. */
function filesBeside(script: string): readonly string[] {
  const folder = dirname(realpathSync(script));
  return readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name));
}

/**
 * As root, only what root alone can change. `listed`: a procman that runs may have replaced compiled code since the
 * folder was listed; what is gone isn't run.
 *
 * @throws {ProcmanError} `boot-refused`
 */
export function refuseUntrusted(paths: readonly string[], listed: readonly string[]): void {
  for (const path of [...paths, ...listed]) {
    const problem = listed.includes(path) ? unlessGone(() => changeableByOthers(path)) : changeableByOthers(path);
    if (problem === undefined) continue;
    throw new ProcmanError(
      "boot-refused",
      `Cannot install: root would run ${path} at boot, but ${problem}. Let its user run it (--run-as USER), or give it to root alone`,
    );
  }
}

function unlessGone<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    return undefined;
  }
}

type BootAccount = Pick<BootRecord, "user" | "home">;

function accountFor(scope: BootScope, runAs: string | undefined): BootAccount {
  if (scope === "system") return accountNamed(runAs ?? "root");
  if (runAs !== undefined) throw new ProcmanError("usage", "Cannot use --run-as with --user: it runs as this user");
  try {
    return { user: userInfo().username, home: homedir() };
  } catch (cause) {
    throw new ProcmanError(
      "boot-refused",
      "Cannot install: the machine knows no name of this user; create the account",
      { cause },
    );
  }
}

/** A user of a directory service is known to the shell, which finds the home. */
function accountNamed(name: string): BootAccount {
  const account = USER_NAME.test(name) ? accountOf(name) : undefined;
  if (account !== undefined) return { user: name, home: account.home ?? `~${name}` };
  throw new ProcmanError(
    "usage",
    `Cannot use --run-as ${JSON.stringify(name)}: this machine has no user of this name; create it, or correct the name (no number)`,
  );
}

/** A link of the machine that leads to this Node, or else its file. */
function stableNode(): string {
  return STABLE_NODES.find((path) => existsSync(path) && realpathSync(path) === process.execPath) ?? process.execPath;
}

/** This shell's PATH: processes find there what they find here. As root without folders that others can change. */
function pathWith(node: string, user: string): string {
  const isKept = (folder: string): boolean =>
    isAbsolute(folder) &&
    !CONTROL_CHARACTER.test(folder) &&
    !YARN_FOLDER.test(folder) &&
    existsSync(folder) &&
    (user !== "root" || changeableByOthers(folder) === undefined);
  const folders = (process.env.PATH ?? "").split(delimiter).filter(isKept);
  const all = [...folders, ...(folders.some((folder) => existsSync(`${folder}/node`)) ? [] : [dirname(node)])];
  return [...new Set([...all, "/usr/local/bin", "/usr/bin", "/bin"])].join(delimiter);
}
