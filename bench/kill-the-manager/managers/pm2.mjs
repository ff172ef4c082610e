// pm2 with the load. Its daemon is started again as its startup script does it: `pm2 resurrect` after `pm2 save`.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exitsIn, findInstalled, kill } from "../processes.mjs";

export class Manager {
  parts = ["daemon"];
  #bin = process.env.PM2_BIN ?? findInstalled("pm2", "npm install -g pm2, or name its bin/pm2 in PM2_BIN");
  name = `pm2 ${JSON.parse(readFileSync(join(this.#bin, "../../package.json"), "utf8")).version}`;
  #folder;
  #load;

  constructor(folder, load) {
    this.#folder = folder;
    this.#load = load;
  }

  async start() {
    const policy = { interpreter: "none", max_restarts: 1e9, min_uptime: 0, restart_delay: 100, merge_logs: true };
    const apps = this.#load.map(({ id, argv: [script, ...args], log }) => {
      return { name: id, script, args, ...policy, out_file: log, error_file: log };
    });
    writeFileSync(join(this.#folder, "ecosystem.config.json"), JSON.stringify({ apps }));
    this.#call("start", "ecosystem.config.json");
    this.#call("save");
  }

  async kill() {
    const pid = Number(readFileSync(join(this.#folder, "pm2/pm2.pid"), "utf8"));
    return kill(pid) ? [pid] : [];
  }

  async comeBack() {
    this.#call("resurrect");
  }

  async running() {
    const apps = JSON.parse(this.#call("jlist").split("\n").at(-1) || "[]");
    return apps.filter(({ pm2_env }) => pm2_env.status === "online").map(({ name }) => name);
  }

  async end() {
    this.#call("kill");
  }

  exits() {
    const log = readFileSync(join(this.#folder, "pm2/pm2.log"), "utf8");
    return exitsIn(log, /App \[([^:\]]+):\d+\] exited with code \[(\d+)\]/g);
  }

  #call(...args) {
    const env = { ...process.env, PM2_HOME: join(this.#folder, "pm2"), PM2_DISABLE_VERSION_CHECK: "true" };
    const options = { cwd: this.#folder, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] };
    return execFileSync(process.execPath, [this.#bin, ...args], options).trim();
  }
}
