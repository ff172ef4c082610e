/** Exports of configurations given as data, by the source, without a file. */
import { resolveConfiguration } from "../../src/core/config/validate.ts";
import { exportTo } from "../../src/satellites/export/export.ts";
import type { Exported, Project, TargetName } from "../../src/satellites/export/workload.ts";

const FOLDER = "/srv/shop";

/** A configuration with most of what a target may have a word for. */
export const SHOP = {
  name: "shop",
  env: { NODE_ENV: "production" },
  processes: [
    {
      id: "db",
      cmd: "redis-server --port 7000",
      autostart: true,
      ready: { port: 7000, timeout: 10 },
      health: { exec: "redis-cli -p 7000 ping", interval: 5 },
      memoryMax: "256MB",
      cpuQuota: 150,
    },
    { id: "migrate", cmd: "/bin/true", autostart: true, restart: "never", dependsOn: ["db"] },
    {
      id: "web",
      cmd: "node server.js",
      autostart: true,
      restart: "always",
      terminateTimeout: 5,
      env: {
        DATABASE: "redis://${DB_HOST:-127.0.0.1}:7000",
        GREETING: '50% of $5 "x"',
        API_KEY: { file: "/run/secrets/api-key" },
      },
      dependsOn: [{ id: "migrate", condition: "finished" }],
      ulimits: { nofile: 4096 },
      umask: "027",
      hooks: { beforeStart: "echo 'it starts'", afterStop: "rm -f web.lock" },
      health: { http: "http://127.0.0.1:{port}/health" },
      stopSignal: "SIGINT",
      reloadSignal: "SIGHUP",
      cluster: {
        instances: 2,
        startPort: 3001,
        commonPort: 3000,
        strategy: "least-connections",
        maxConnections: 100,
        idleTimeout: 60,
      },
    },
    {
      id: "mail",
      cmd: "./mail.sh --fast",
      autostart: true,
      cwd: "mail",
      path: "bin",
      envFile: "mail.env",
      env: { SHOP: "http://localhost:3000/${SUFFIX-none}" },
      terminateGracePeriod: 3,
      restartLimit: 5,
      successExitCodes: [3, "SIGTERM"],
      logger: { stdout: "logs/mail.log" },
      nice: 5,
      ioNice: { class: "best-effort", level: 6 },
      oomScoreAdjust: 300,
    },
    {
      id: "report",
      cmd: "./report.sh | gzip > report.gz",
      cron: "0 3 * * MON-FRI",
      timeZone: "Europe/Berlin",
      timeout: 600,
      catchUp: true,
      jitter: 30,
    },
    { id: "clean", cmd: "find tmp -delete", user: 1234, group: 1234 },
  ],
} as const;

export const PROJECT: Omit<Project, "notes"> = {
  name: "shop",
  folder: FOLDER,
  source: "procman.jsonc",
  nodeFolder: "/usr/bin",
  hasPackage: true,
  hasLock: true,
  programPath: (program) => (program.includes("/") ? program.replace(/^\./, FOLDER) : `/usr/bin/${program}`),
  namesIn: () => undefined,
};

export function exported(target: TargetName, config: unknown = SHOP, project: Partial<Project> = {}): Exported {
  const resolved = resolveConfiguration(config, { cwd: project.folder ?? FOLDER, parallelism: 2 });
  return exportTo(target, resolved, { ...PROJECT, name: resolved.name, ...project });
}

/** The text of one of the files. */
export function fileOf({ files }: Exported, name: string): string {
  const file = files.find((each) => each.name === name);
  if (file === undefined) throw new Error(`There is no ${name} among ${files.map((each) => each.name).join(", ")}`);
  return file.text;
}

/** The notes about a field, as `process: text`. */
export function notesAbout({ notes }: Exported, field: string): readonly string[] {
  return notes.filter((note) => note.field === field).map(({ process, text }) => `${process}: ${text}`);
}
