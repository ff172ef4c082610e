/** The processes of a soak: printers and crashers, whose lines and ends are counted, and processes for what an operator does. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { program } from "../support/fault-rig.ts";

/** Numbered lines all the time. `print-disk`: on the disk that becomes full. */
export const STEADY = ["print", "print-rotated", "print-errors", "print-disk"] as const;
/** Numbered lines for a while, when it is started. */
export const FLOOD = "flood";
/** End with a known code and are restarted by their policy alone. */
export const CRASHERS = ["crash-quick", "crash-slow", "crash-family", "job"] as const;
/** Started, stopped and restarted by an operator. */
export const TOYS = ["toy", "toy-hooks"] as const;
/** Killed by a signal, and then restarted. */
export const VICTIMS = ["print", "print-rotated", "checked", "watched"] as const;
export const WEB = "web";
export const POOL = "pool";
export const WATCHED = "watched";
/** In the file or not, by turns. */
const EXTRA = "extra";
export const FIRST_INSTANCES = 2;
export const MOST_INSTANCES = 4;
/** Of the configuration. */
export const NAME = "load";

/** Bytes of the log store; the log says when older lines are deleted. */
const LOG_STORE_BYTES = 16_000_000;
/** So that also metrics and log store reach their end within a short run. */
const LOG_HOURS = 0.1;

export type SoakPorts = { readonly web: number; readonly webStart: number; readonly checked: number };

/** What a reload changes. */
export type Variant = { readonly pool: number; readonly text: string; readonly hasExtra: boolean };

export const FIRST_VARIANT: Variant = { pool: FIRST_INSTANCES, text: "0", hasExtra: false };

const SERVER = fileURLToPath(new URL("../programs/drain-on-sigterm.js", import.meta.url));
const ANSWER = fileURLToPath(new URL("../programs/answer-with-pid.js", import.meta.url));

export type Places = { readonly folder: string; readonly disk: string };

export function soakConfig(places: Places): object {
  return {
    logger: { format: "json", internalLogHours: LOG_HOURS, internalLogSize: LOG_STORE_BYTES },
    watcher: { interval: 100 },
    plugins: [{ url: "./plugin.mjs", options: { fault: join(places.folder, "plugin-fault") } }],
  };
}

const always = { autostart: true, restart: "always", restartDelayMs: 200 };

export function soakProcesses(places: Places, ports: SoakPorts, { pool, text, hasExtra }: Variant): readonly object[] {
  return [
    ...counted(places),
    { id: "toy", cmd: "sleep 1000", autostart: true, env: { TEXT: text } },
    {
      id: "toy-hooks",
      cmd: "sleep 1000",
      ...always,
      dependsOn: ["toy"],
      hooks: { beforeStart: "true", afterStop: "true" },
    },
    { id: WATCHED, cmd: "sleep 1000", watch: ["watched"] },
    {
      id: "checked",
      cmd: `${process.execPath} ${ANSWER} ${ports.checked}`,
      ...always,
      memoryLimit: "1GB",
      ready: { http: `http://127.0.0.1:${ports.checked}/` },
      health: { port: ports.checked, interval: 2 },
    },
    { id: "limited", cmd: "sleep 1000", ...always, timeout: 7 },
    {
      id: WEB,
      cmd: `${process.execPath} ${SERVER}`,
      ...always,
      cluster: { instances: FIRST_INSTANCES, startPort: ports.webStart, commonPort: ports.web },
    },
    { id: POOL, cmd: "sleep 1000", ...always, cluster: { instances: pool } },
    ...(hasExtra ? [{ id: EXTRA, cmd: "echo $TEXT; exec sleep 1000", autostart: true, env: { TEXT: text } }] : []),
  ];
}

/** Processes whose lines and ends are compared with what procman has of them. */
function counted({ folder, disk }: Places): readonly object[] {
  const log = (id: string, more: object = {}) => ({
    stdout: `logs/${id}.log`,
    rotate: { size: "8MB", total: "1TB" },
    ...more,
  });
  const printer = (id: string, bytes: number, pauseMs: number) => ({
    id,
    cmd: program(folder, "printer", id, bytes, pauseMs),
    logger: log(id),
  });
  const crasher = (id: string, shortest: number, longest: number) => ({
    id,
    cmd: program(folder, "crasher", id, shortest, longest),
    ...always,
    restartDelayMs: 50,
    logger: log(id),
  });
  const family = crasher("crash-family", 5_000, 15_000);
  const errors = printer("print-errors", 32_768, 2_000);
  return [
    { ...printer("print", 32_768, 500), ...always },
    {
      ...printer("print-rotated", 32_768, 1_000),
      ...always,
      logger: log("print-rotated", { rotate: { size: "1MB", total: "1TB" } }),
    },
    {
      ...errors,
      cmd: `${errors.cmd} 1>&2`,
      ...always,
      logger: { stdout: "logs/none.log", stderr: "logs/print-errors.log" },
    },
    {
      ...printer("print-disk", 32_768, 10_000),
      ...always,
      logger: log("print-disk", { stdout: join(disk, "print-disk.log") }),
    },
    printer(FLOOD, 4_000_000, 400),
    crasher("crash-quick", 1_000, 3_000),
    crasher("crash-slow", 3_000, 10_000),
    { ...family, cmd: `sleep 1000 & ${family.cmd}; exit $?` },
    { ...crasher("job", 10, 300), autostart: false, restart: "never", cron: "*/10 * * * * *" },
  ];
}

/** A plugin that listens to events, and fails in the way that the file `fault` says. */
export function writePlugin(folder: string): void {
  writeFileSync(
    join(folder, "plugin.mjs"),
    `import { existsSync, readFileSync, rmSync } from "node:fs";
const FAULTS = {
  throw: () => { throw new Error("planned: thrown"); },
  reject: () => void Promise.reject(new Error("planned: rejected")),
  hang: () => { for (;;); },
};
export default {
  name: "soak",
  version: "1.0.0",
  setup({ events, options, log }) {
    let seen = 0;
    events.on("process.state", () => { seen += 1; });
    const timer = setInterval(() => {
      if (!existsSync(options.fault)) return;
      const fault = readFileSync(options.fault, "utf8");
      rmSync(options.fault);
      FAULTS[fault]();
    }, 500);
    log.info("listens");
    return () => clearInterval(timer);
  },
};
`,
  );
}

export const PLUGIN_FAULTS = ["throw", "reject", "hang"] as const;
