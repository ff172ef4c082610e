/**
 * Run in a PID namespace with its own /proc: `foreign-pid.ts FOLDER`. Kills procman and its processes, gives their pids
 * to other programs, and starts procman again. Prints what is wrong, as JSON.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { KillableProcman } from "../support/killable-procman.ts";
import { kill } from "../support/marked-processes.ts";
import { isAlive, within } from "../support/procman-process.ts";

const [, , folder = ""] = process.argv;
const IDS = ["leader", "group", "session"];
/** What takes the pid `$!` of each: a leader of a session; a group whose leader has ended; a process that the namespace's init adopted. */
const FOREIGN: Readonly<Record<string, string>> = {
  leader: "setsid sleep 1000",
  group: "setsid sh -c 'sleep 1000 & exit'",
  session: "setsid sh -c 'sleep 1000 & sleep 1000'",
};

const procman = new KillableProcman({
  folder,
  processes: IDS.map((id) => ({ id, cmd: "sleep 1000", autostart: true, restart: "always" })),
});
const findings: string[] = [];

async function running(): Promise<readonly ProcessRecord[]> {
  const records = await within(20_000, async () => {
    const all = await procman.answered();
    return all?.every(({ status }) => status === "running") ? all : undefined;
  });
  if (records === undefined) throw new Error("the processes don't run");
  return records;
}

/** Starts this program with this pid, which a thread of another program may get first. Returns the pids in its group. */
function take(pid: number, command: string): readonly number[] {
  const attempt = `echo ${pid - 1} > /proc/sys/kernel/ns_last_pid; ${command} </dev/null >/dev/null 2>&1 & [ $! = ${pid} ] || { kill -9 $!; false; }`;
  const isTaken = (): boolean => spawnSync("sh", ["-c", attempt]).status === 0;
  if (!Array.from({ length: 20 }).some(isTaken)) throw new Error(`the pid ${pid} is not to be had`);
  const members = (): readonly number[] =>
    execFileSync("ps", ["-eo", "pid=,pgid=,comm="], { encoding: "utf8" })
      .split("\n")
      .flatMap((line) => {
        const [own, group, name] = line.trim().split(/\s+/);
        return Number(group) === pid && name === "sleep" ? [Number(own)] : [];
      });
  for (const end = performance.now() + 5_000; performance.now() < end; ) {
    const found = members();
    if (found.length > 0) return found;
  }
  throw new Error(`nothing runs in group ${pid}`);
}

procman.start();
const before = await running();
procman.kill("everything");
for (const { pid = 0 } of before) kill(pid);
await within(5_000, () => procman.keeper === undefined && before.every(({ pid = 0 }) => !isAlive(pid)));
// The highest first: what is started afterwards gets pids above it, and none that is still to be taken.
const foreign = before
  .toSorted((one, other) => (other.pid ?? 0) - (one.pid ?? 0))
  .map(({ id, pid = 0 }) => ({ id, pids: take(pid, FOREIGN[id] ?? "") }));
const check = (when: string): void => {
  for (const { id, pids } of foreign)
    if (!pids.every((pid) => isAlive(pid))) findings.push(`${when}, the program that has the pid of "${id}" was ended`);
};
procman.start();
const after = await running();
check("when procman was started again");
for (const { id, pid = 0 } of after)
  if (before.some((each) => each.pid === pid)) findings.push(`"${id}" is shown with the pid of a foreign program`);
// Twice: the journal of a keeper that has adopted nothing, and that of one that has.
procman.kill("keeper");
await running();
check("after a failover");
const left = await procman.end();
check("after the end");
findings.push(...left.map(({ command }) => `left behind: ${command}`));
writeFileSync(1, JSON.stringify(findings));
// The namespace ends with it, and so do the foreign programs.
process.exit();
