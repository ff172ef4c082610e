// supervisord under the same load, started again after a kill, as the machine's init would do.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isAlive, kill, MARK, marked, within } from "../processes.mjs";

export class Supervisord {
  name = `supervisord ${version()}`;
  parts = ["daemon"];
  #folder;
  #config;
  #pid = 0;

  constructor({ folder, load }) {
    this.#folder = folder;
    this.#config = join(folder, "supervisord.conf");
    const socket = `${folder}/supervisor.sock`;
    const programs = load.map(
      ({ id, argv, log }) => `[program:${id}]
command=${argv.join(" ")}
autorestart=true
startsecs=0
startretries=1000000
redirect_stderr=true
stdout_logfile=${log}
stdout_logfile_maxbytes=0
`,
    );
    writeFileSync(
      this.#config,
      `[supervisord]
nodaemon=true
logfile=${folder}/supervisord.log
logfile_maxbytes=0
pidfile=${folder}/supervisord.pid
[unix_http_server]
file=${socket}
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
[supervisorctl]
serverurl=unix://${socket}
${programs.join("")}`,
    );
  }

  async start() {
    const env = { ...process.env, [MARK]: this.#folder };
    const child = spawn("supervisord", ["-n", "-c", this.#config], {
      cwd: this.#folder,
      env,
      stdio: "ignore",
      detached: true,
    });
    child.unref();
    this.#pid = child.pid ?? 0;
  }

  kill() {
    return kill(this.#pid) ? [this.#pid] : [];
  }

  async comeBack() {
    await this.start();
    return false;
  }

  async running() {
    return [...this.#control("status").matchAll(/^(\S+)\s+RUNNING/gm)].map(([, id]) => id);
  }

  exits() {
    const log = readFileSync(join(this.#folder, "supervisord.log"), "utf8");
    return [...log.matchAll(/exited: (\S+) \(exit status (\d+);/g)].map(([, id, code]) => ({ id, code: Number(code) }));
  }

  async end() {
    this.#control("shutdown");
    await within(30_000, () => !isAlive(this.#pid));
    return marked(this.#folder);
  }

  destroy() {
    for (const { pid } of marked(this.#folder)) kill(pid);
  }

  /** Ignores the exit code, which is only 0 if all processes run. */
  #control(...args) {
    try {
      return execFileSync("supervisorctl", ["-c", this.#config, ...args], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "ignore"],
      });
    } catch (error) {
      return String(error.stdout ?? "");
    }
  }
}

function version() {
  try {
    return execFileSync("supervisord", ["--version"], { encoding: "utf8" }).trim();
  } catch {
    throw new Error("supervisord is not there: apt-get install supervisor, or pip install supervisor");
  }
}
