/** What is known of each procman that runs on this machine, for `procman list`. */
import { addressText } from "../../core/base/address-text.ts";
import { compact } from "../../core/base/compact.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { allRun } from "../../core/contract/process-health.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import type { StateRecord } from "../../core/contract/state-record.ts";
import { lastEndpoint } from "../../core/os/published-endpoint.ts";
import { type RunningKeeper, runningKeepers } from "../../core/os/running-keepers.ts";
import { userName } from "../../core/os/user-names.ts";
import { connectTo } from "./connect.ts";

export type ListedProcman = {
  readonly name: string;
  /** `no-keeper`: the keeper was killed and not replaced; the processes are running. */
  readonly status: "running" | "terminating" | "service-down" | "no-keeper";
  /** Absent: its keeper was killed. */
  readonly configFile?: string;
  readonly stateDir: string;
  readonly user: string;
  /** Pids. */
  readonly keeper?: number;
  readonly service?: number;
  readonly version?: string;
  /** When the keeper was started. */
  readonly started?: string;
  readonly uptimeSeconds?: number;
  /** Absent: they can't be asked for. `attention`: how many are not up although they were asked for, not ready, or not healthy. */
  readonly processes?: { readonly total: number; readonly attention: number };
  readonly api?: { readonly hostname: string; readonly port: number };
  /** Address of the API, as `http://127.0.0.1:9000`. */
  readonly url?: string;
  /** Path of the API's Unix socket. */
  readonly socket?: string;
  /** Why it doesn't answer. */
  readonly problem?: string;
};

/** A service that is stopped must not hold up the others. Milliseconds. */
export const PATIENCE = { connectMs: 1_000, silenceMs: 2_000 };

/** The procmans of this user; for root those of all users, but other users' procmans are not asked anything. */
export async function listProcmans(now = Date.now()): Promise<readonly ListedProcman[]> {
  return Promise.all(runningKeepers(process.geteuid?.() !== 0).map((keeper) => listed(keeper, now)));
}

/** What one procman has answered, or why it hasn't. */
export type ProcmanProcesses = {
  readonly name: string;
  readonly configFile?: string;
  readonly stateDir: string;
} & ({ readonly processes: readonly ProcessRecord[] } | { readonly problem: string });

/** The processes of each procman of this user. */
export async function processesOfAll(): Promise<readonly ProcmanProcesses[]> {
  return Promise.all(
    runningKeepers().map(async ({ name, stateDir, file }) => {
      const place = compact({ name, configFile: file, stateDir });
      try {
        return { ...place, processes: await (await connectTo({ name, stateDir }, "cli", PATIENCE)).processes() };
      } catch (error) {
        if (!(error instanceof ProcmanError)) throw error;
        return { ...place, problem: error.message };
      }
    }),
  );
}

async function listed(keeper: RunningKeeper, now: number): Promise<ListedProcman> {
  const { name, stateDir, uid, pid, file, since } = keeper;
  const known = compact({
    name,
    status: pid === undefined ? "no-keeper" : "running",
    configFile: file,
    stateDir,
    user: userName(uid),
    keeper: pid,
    ...(since !== undefined && {
      started: new Date(since).toISOString(),
      uptimeSeconds: Math.max(0, Math.round((now - since) / 1_000)),
    }),
  });
  if (pid === undefined || uid !== process.geteuid?.()) return known;
  try {
    const client = await connectTo({ name, stateDir }, "cli", PATIENCE);
    const [state, processes] = await Promise.all([client.state(), client.processes()]);
    return { ...known, ...answered(state, processes), ...published(stateDir) };
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    return { ...known, status: "service-down", problem: error.message };
  }
}

/** What the service has written of itself. */
function published(stateDir: string): Pick<ListedProcman, "service" | "url" | "socket"> {
  const { pid, hostname = "", port, tls, socket, isOff, problem } = lastEndpoint(stateDir) ?? {};
  const isReached = port !== undefined && isOff === undefined && problem === undefined;
  const url = isReached ? `${tls === true ? "https" : "http"}://${addressText({ hostname, port })}` : undefined;
  return compact({ service: pid, url, socket });
}

function answered(
  { status, configFile, version, api }: StateRecord,
  records: readonly ProcessRecord[],
): Partial<ListedProcman> {
  const members = records.flatMap((record) => record.instances ?? [record]);
  const attention = members.filter((record) => !allRun([record], { named: false, checks: true })).length;
  return {
    status,
    configFile,
    version,
    processes: { total: members.length, attention },
    ...(api !== undefined && { api }),
  };
}
