/** Reads requests for an upgrade, one at a time, and writes their reports: see `ipc/upgrade-protocol.ts`. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "../base/version.ts";
import {
  UPGRADE_REPORT,
  UPGRADE_REQUEST,
  type UpgradeReport,
  type UpgradeRequest,
  type UpgradeStep,
} from "../ipc/upgrade-protocol.ts";
import { writeWhole } from "../os/careful-files.ts";
import { checkStateFolder } from "../os/state-folder.ts";
import { warn } from "./log.ts";
import { type Installation, isInstallation } from "./programs.ts";

/** Replaces one part after the other; stops at the first that fails. */
export type ReplaceParts = (to: Installation) => Promise<readonly UpgradeStep[]>;

export class UpgradeRequests {
  readonly #replace: ReplaceParts;
  #isBusy = false;

  constructor(replace: ReplaceParts) {
    this.#replace = replace;
  }

  /** `own`: where the keeper came from, for a SIGUSR1 without a request. */
  async onSignal(stateDir: string, own: Installation): Promise<void> {
    const { id, ...to } = takeRequest(stateDir) ?? { id: "", ...own };
    if (this.#isBusy) return this.#report(stateDir, id, [], "another upgrade is under way; wait until it is done");
    if (!isInstallation(to)) return this.#report(stateDir, id, [], `there is no procman in ${to.folder}`);
    this.#isBusy = true;
    try {
      this.#report(stateDir, id, await this.#replace(to));
    } finally {
      this.#isBusy = false;
    }
  }

  #report(stateDir: string, id: string, steps: readonly UpgradeStep[], refusal?: string): void {
    const ok = refusal === undefined && steps.every((step) => step.ok);
    const notice = refusal ?? (steps.some(({ to }) => to !== VERSION) ? keeperStays() : undefined);
    const report: UpgradeReport = { id, ok, keeper: VERSION, steps, ...(notice === undefined ? {} : { notice }) };
    for (const line of linesOf(report)) warn(line);
    const path = join(stateDir, UPGRADE_REPORT);
    try {
      writeWhole(path, JSON.stringify(report));
    } catch (error) {
      warn(`Cannot write ${path}: ${(error as Error).message}`);
    }
  }
}

function keeperStays(): string {
  return `the keeper itself stays at ${VERSION} until procman is restarted`;
}

function linesOf({ steps, notice }: UpgradeReport): readonly string[] {
  const done = steps.map(({ part, from, to, ok, ms, problem }) =>
    ok
      ? `upgrade: ${part} ${from} → ${to}, in ${ms} ms`
      : `upgrade: the ${part} was not replaced: ${problem}; the old one (${from}) stays`,
  );
  return notice === undefined ? done : [...done, `upgrade: ${notice}`];
}

/** undefined: there is none, or it can't be read. */
function takeRequest(stateDir: string): UpgradeRequest | undefined {
  const path = join(stateDir, UPGRADE_REQUEST);
  try {
    checkStateFolder(stateDir);
    const { id, node, folder } = JSON.parse(readFileSync(path, "utf8")) as Partial<UpgradeRequest>;
    rmSync(path);
    return id === undefined || node === undefined || folder === undefined ? undefined : { id, node, folder };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") warn(`Cannot read ${path}: ${(error as Error).message}`);
    return undefined;
  }
}
