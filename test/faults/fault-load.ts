/** Processes of the kill schedule: printers, crashers, scheduled jobs, and processes that an operator starts and stops. */
import { fileURLToPath } from "node:url";

const PROGRAMS = fileURLToPath(new URL("../../examples/kill-the-manager/programs/", import.meta.url));

/** Crash and are restarted by policy; nothing else starts or stops them, so their runs can be counted. */
export const CRASHERS = ["crash-quick", "crash-slow", "crash-error", "crash-family"] as const;
/** Started, stopped, restarted and blocked by an operator. */
export const OPERATED = ["toy-plain", "toy-once", "toy-stubborn"] as const;
/** A cluster that an operator scales, and whose number of instances it changes in the file. */
export const CLUSTER = "pool";
/** Only the profile by which the schedule runs procman has this process. */
export const PROFILED = "profiled";
export const PROFILE = "faults";
/** Started by its schedule each second, and by nothing else. */
export const JOB = "job";
/** Processes with numbered lines. */
export const PRINTERS = ["print", "print-rotated", "print-errors", ...OPERATED] as const;

/** Its instances take a lock, so that a second copy is noted in the diary. */
export function clusterIn(folder: string, instances: number): object {
  const id = `${CLUSTER}-$PROCMAN_CLUSTER_INSTANCE`;
  const twice = `echo "{\\"what\\":\\"twice\\",\\"id\\":\\"${id}\\",\\"pid\\":$$}" >> ${folder}/diary.jsonl`;
  const cmd = `flock -n -E 99 ${folder}/${id}.lock sleep 1000; [ $? = 99 ] && ${twice}; exit 1`;
  return { id: CLUSTER, cmd, autostart: true, restart: "always", restartDelayMs: 50, cluster: { instances } };
}

export function profilesOf(): object {
  return { [PROFILE]: { processes: [{ id: PROFILED, cmd: "sleep 1000", autostart: true, restart: "always" }] } };
}

export function loadIn(folder: string): readonly object[] {
  const program = (name: string, id: string, ...args: readonly (string | number)[]): string =>
    [process.execPath, `${PROGRAMS}${name}.mjs`, folder, id, ...args].join(" ");
  const log = (id: string) => ({ stdout: `logs/${id}.log` });
  const always = { autostart: true, restart: "always" };
  const crasher = (id: string, shortest: number, longest: number, more: object = {}) => ({
    id,
    cmd: program("crasher", id, shortest, longest),
    ...always,
    restartDelayMs: 10,
    logger: log(id),
    ...more,
  });
  const operated = (id: string, more: object = {}) => ({ id, cmd: program("printer", id, 20_000, 150), logger: log(id), ...more });
  return [
    { id: "print", cmd: program("printer", "print", 300_000, 70), ...always, logger: log("print") },
    {
      id: "print-rotated",
      cmd: program("printer", "print-rotated", 200_000, 60),
      ...always,
      logger: { ...log("print-rotated"), rotate: { size: "2MB", total: "2GB", gzip: true } },
    },
    {
      id: "print-errors",
      cmd: `${program("printer", "print-errors", 60_000, 100)} 1>&2`,
      ...always,
      logger: { stdout: "logs/print-errors.out.log", stderr: "logs/print-errors.log" },
    },
    crasher("crash-quick", 20, 200),
    crasher("crash-slow", 500, 3_000),
    crasher("crash-error", 50, 1_000, { restart: "error", restartDelayMs: 120 }),
    crasher("crash-family", 300, 1_500, { cmd: `sleep 1000 & ${program("crasher", "crash-family", 300, 1_500)}; exit $?` }),
    { id: JOB, cmd: program("crasher", JOB, 10, 300), cron: "* * * * * *", logger: log(JOB) },
    { id: "overrun", cmd: "sleep 2.5", cron: "* * * * * *", overrun: true },
    { id: "timeout", cmd: "sleep 1000", ...always, restartDelayMs: 10, timeout: 0.7 },
    operated("toy-plain", { autostart: true, restart: "always" }),
    operated("toy-once"),
    operated("toy-stubborn", { autostart: true, terminateTimeout: 0.2, env: { STUBBORN: "1" } }),
  ];
}
