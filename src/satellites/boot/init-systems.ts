/** The init systems that can start procman, and which of them is here. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { basename, delimiter, join } from "node:path";
import { ProcmanError } from "../../core/base/errors.ts";
import { namesIfSeen } from "../../core/os/files.ts";
import type { BootPlan, PlanMaker } from "./boot-plan.ts";
import { type BootRecord, type BootScope, type InitName, launcherPath } from "./boot-record.ts";
import { cronPlan } from "./cron-job.ts";
import { launchdPlan } from "./launchd-job.ts";
import { openrcPlan } from "./openrc-script.ts";
import { runitPlan, s6Plan } from "./service-folders.ts";
import { systemdPlan } from "./systemd-unit.ts";

type InitSystem = {
  readonly plan: PlanMaker;
  readonly isHere: () => boolean;
  /** Whether a user has one, too. */
  readonly hasUsers: boolean;
};

/** In the order in which they are looked for: cron is taken where there is nothing else. */
const INIT_SYSTEMS: Readonly<Record<InitName, InitSystem>> = {
  systemd: { plan: systemdPlan, isHere: () => existsSync("/run/systemd/system"), hasUsers: true },
  launchd: { plan: launchdPlan, isHere: () => process.platform === "darwin", hasUsers: true },
  openrc: { plan: openrcPlan, isHere: () => existsSync("/run/openrc/softlevel"), hasUsers: false },
  runit: { plan: runitPlan, isHere: () => isRunning("runsvdir"), hasUsers: false },
  s6: { plan: s6Plan, isHere: () => isRunning("s6-svscan"), hasUsers: false },
  cron: {
    plan: cronPlan,
    isHere: () => !isBusyboxCron() && (existsSync("/etc/cron.d") || programInPath("crontab") !== undefined),
    hasUsers: true,
  },
};

const INIT_NAMES = Object.keys(INIT_SYSTEMS) as readonly InitName[];

/** @throws {ProcmanError} `usage`: there is no such init system, or none for users; `boot-refused`: none is here */
export function initSystemFor(scope: BootScope, wanted: string | undefined): InitName {
  const fits = ([, { hasUsers }]: readonly [string, InitSystem]): boolean => scope === "system" || hasUsers;
  const names = Object.entries(INIT_SYSTEMS).filter(fits) as readonly [InitName, InitSystem][];
  if (wanted !== undefined) {
    const [found] = names.find(([name]) => name === wanted) ?? [];
    if (found === "cron" && isBusyboxCron())
      throw new ProcmanError(
        "boot-refused",
        'Cannot use --init cron: that of busybox starts nothing at boot; use openrc, or install "cronie"',
      );
    if (found !== undefined) return found;
    const isKnown = INIT_NAMES.some((name) => name === wanted);
    const why = isKnown
      ? `${wanted} starts nothing for a user; use --system, or cron`
      : `allowed: ${INIT_NAMES.join(", ")}`;
    throw new ProcmanError("usage", `Cannot use --init ${wanted}: ${why}`);
  }
  const [here] = names.find(([, { isHere }]) => isHere()) ?? [];
  if (here !== undefined) return here;
  throw new ProcmanError(
    "boot-refused",
    `Cannot install: this machine runs no init system that procman knows (${INIT_NAMES.join(", ")}); let yours run "procman run", or name one by --init`,
  );
}

export function planOf(record: BootRecord): BootPlan {
  return INIT_SYSTEMS[record.init].plan(record, launcherPath(record.scope, record.name));
}

/** Without /proc, none is found; then `--init` names it. */
function isRunning(program: string): boolean {
  return namesIfSeen("/proc").some((pid) => /^\d+$/.test(pid) && commOf(pid) === program);
}

function commOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return "";
  }
}

/** Whether cron is that of busybox, which has no `@reboot` and reads no /etc/cron.d. */
function isBusyboxCron(): boolean {
  const program = programInPath("crontab");
  return program !== undefined && basename(realpathSync(program)) === "busybox";
}

function programInPath(program: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder.startsWith("/"));
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path));
}
