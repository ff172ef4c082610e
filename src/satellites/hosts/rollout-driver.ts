/** Carries out a rollout, host by host, as `rollout-plan.ts` says. It may end at any moment: another one goes on. */
import { ProcmanError, reasonOf } from "../../core/base/errors.ts";
import type { RolloutPhase } from "../../core/contract/rollout-record.ts";
import type { Drained, DrainHost } from "./drain-command.ts";
import { LostHost, type RolledHost } from "./rolled-host.ts";
import { type HostDeed, type HostState, nextDeeds, type RolloutEnd, type RolloutLimits } from "./rollout-plan.ts";
import { captureRemote, sshHost } from "./ssh.ts";

/** The longest that an upgrade takes. Milliseconds. */
const UPGRADE_MS = 300_000;

export type DrivenRollout = {
  readonly id: string;
  readonly limits: RolloutLimits;
  readonly hosts: readonly RolledHost[];
  readonly isUpgrade: boolean;
  readonly drain: DrainHost | undefined;
  /** Something has changed. */
  readonly onNews: () => void;
};

/** What its step leads to, before the host has answered. */
const BEGINS: Partial<Readonly<Record<HostDeed, RolloutPhase>>> = {
  drain: "draining",
  undrain: "undraining",
  run: "running",
  "back-drain": "back-draining",
  "back-run": "back-running",
};

/** Until it is over. @throws {ProcmanError} a refusal of a host */
export async function drive(rollout: DrivenRollout): Promise<RolloutEnd> {
  const { limits, hosts, onNews } = rollout;
  const active = new Map<string, Promise<void>>();
  const begun = new Map<string, HostState>();
  for (;;) {
    const states = new Map(hosts.map((host) => [host.name, begun.get(host.name) ?? host.state]));
    const { deeds, end } = nextDeeds(limits, states);
    if (end !== undefined) return end;
    for (const host of hosts) {
      const deed = deeds.get(host.name);
      if (deed === undefined || active.has(host.name)) continue;
      const phase = BEGINS[deed];
      if (phase !== undefined) begun.set(host.name, { ...host.record, phase });
      const work = perform(host, deed, rollout).catch(unlessLost);
      const done = work.finally(() => {
        begun.delete(host.name);
        active.delete(host.name);
        onNews();
      });
      active.set(host.name, done);
    }
    await Promise.race(active.values());
  }
}

async function perform(host: RolledHost, deed: HostDeed, rollout: DrivenRollout): Promise<void> {
  const { id } = rollout;
  const isBack = host.record?.phase.startsWith("back-") === true;
  switch (deed) {
    case "watch":
      return rollout.isUpgrade ? upgrade(host, id) : host.watch(rollout.onNews);
    case "drained": {
      const problem = await drained(host, "drain", rollout);
      const failed = problem === undefined ? {} : { problem };
      // The way back is gone also without it.
      return host.step({ id, step: isBack ? "back-run" : problem === undefined ? "run" : "fail", ...failed });
    }
    case "ready": {
      const problem = await drained(host, "ready", rollout);
      return host.step({ id, ...(problem === undefined ? { step: "ready" } : { step: "fail", problem }) });
    }
    default:
      return host.step({ id, step: deed });
  }
}

function drained(
  { host }: RolledHost,
  state: Drained["state"],
  { id, drain }: DrivenRollout,
): Promise<string | undefined> {
  if (drain !== undefined) return drain({ host, state, rollout: id });
  throw new ProcmanError(
    "usage",
    `Cannot go on: the rollout takes ${host.name} out of its load balancer; name it again: --haproxy ADDRESS or --drain-command COMMAND`,
  );
}

/** By ssh: the new version is installed there, and replaces the running one. Twice is as once. */
async function upgrade(host: RolledHost, id: string): Promise<void> {
  const there = sshHost(host.host);
  const problem = there === undefined ? "it is not reached by ssh" : await upgradeProblem(there);
  await host.step({ id, ...(problem === undefined ? { step: "did" } : { step: "fail", problem }) });
}

async function upgradeProblem(there: NonNullable<ReturnType<typeof sshHost>>): Promise<string | undefined> {
  try {
    const { code, err } = await captureRemote(there, ["upgrade"], { timeoutMs: UPGRADE_MS });
    return code === 0 ? undefined : err.replace(/^procman: /, "") || `it ended with code ${code}`;
  } catch (error) {
    return reasonOf(error);
  }
}

function unlessLost(error: unknown): void {
  if (!(error instanceof LostHost)) throw error;
}
