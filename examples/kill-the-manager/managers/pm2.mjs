// pm2 under the same load. Its daemon is started again as its startup script does it: `pm2 resurrect` after `pm2 save`.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, kill, MARK, marked, within } from "../processes.mjs";

export class Pm2 {
  name = `pm2 ${version()}`;
  parts = ["daemon"];
  #folder;
  #home;

  constructor({ folder, load }) {
    this.#folder = folder;
    this.#home = join(folder, "pm2");
    mkdirSync(this.#home, { recursive: true });
    const apps = load.map(({ id, argv, log }) => ({
      name: id,
      script: argv[0],
      args: argv.slice(1),
      interpreter: "none",
      exec_mode: "fork",
      max_restarts: 1e9,
      min_uptime: 0,
      restart_delay: 100,
      merge_logs: true,
      out_file: log,
      error_file: log,
    }));
    writeFileSync(join(folder, "ecosystem.config.json"), JSON.stringify({ apps }));
  }

  async start() {
    this.#call("start", join(this.#folder, "ecosystem.config.json"));
    this.#call("save");
  }

  get #daemon() {
    const file = join(this.#home, "pm2.pid");
    const pid = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
    return pid > 1 && isAlive(pid) ? pid : undefined;
  }

  kill() {
    const pid = this.#daemon;
    return pid !== undefined && kill(pid) ? [pid] : [];
  }

  async comeBack() {
    this.#call("resurrect");
    return false;
  }

  /** Ids of the processes that it reports as running. */
  async running() {
    return JSON.parse(this.#call("jlist").split("\n").at(-1) || "[]").flatMap(({ name, pm2_env }) =>
      pm2_env.status === "online" ? [name] : [],
    );
  }

  /** Exits in its log, in order. */
  exits() {
    const log = readFileSync(join(this.#home, "pm2.log"), "utf8");
    return [...log.matchAll(/App \[([^:\]]+):\d+\] exited with code \[(\d+)\]/g)].map(([, id, code]) => ({
      id,
      code: Number(code),
    }));
  }

  async end() {
    const pid = this.#daemon;
    this.#call("kill");
    await within(3_000, () => pid === undefined || !isAlive(pid));
    return marked(this.#folder);
  }

  destroy() {
    for (const { pid } of marked(this.#folder)) kill(pid);
  }

  #call(...args) {
    const env = { ...process.env, PM2_HOME: this.#home, PM2_DISABLE_VERSION_CHECK: "true", [MARK]: this.#folder };
    return execFileSync(process.execPath, [bin(), ...args], {
      cwd: this.#folder,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    }).trim();
  }
}

function bin() {
  return (
    process.env.PM2_BIN ?? execFileSync("sh", ["-c", 'readlink -f "$(command -v pm2)"'], { encoding: "utf8" }).trim()
  );
}

function version() {
  try {
    return JSON.parse(readFileSync(join(bin(), "../../package.json"), "utf8")).version;
  } catch {
    throw new Error("pm2 is not there: npm install -g pm2, or name its bin/pm2 in PM2_BIN");
  }
}
