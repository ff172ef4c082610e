// supervisord with the load, started again after a kill, as the machine's init would do.
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { exitsIn, findInstalled, isAlive, kill, within } from "../processes.mjs";

export class Manager {
  parts = ["daemon"];
  #bin = findInstalled("supervisord", "apt-get install supervisor, or pip install supervisor");
  name = `supervisord ${execFileSync(this.#bin, ["--version"], { encoding: "utf8" }).trim()}`;
  #folder;
  #child;

  constructor(folder, load) {
    this.#folder = folder;
    const socket = `${folder}/supervisor.sock`;
    const sections = {
      supervisord: { nodaemon: true, logfile: `${folder}/supervisord.log`, logfile_maxbytes: 0 },
      unix_http_server: { file: socket },
      "rpcinterface:supervisor": {
        "supervisor.rpcinterface_factory": "supervisor.rpcinterface:make_main_rpcinterface",
      },
      supervisorctl: { serverurl: `unix://${socket}` },
    };
    const policy = { autorestart: true, startsecs: 0, startretries: 1e6, redirect_stderr: true };
    for (const { id, argv, log } of load)
      sections[`program:${id}`] = {
        command: argv.join(" "),
        ...policy,
        stdout_logfile: log,
        stdout_logfile_maxbytes: 0,
      };
    const linesOf = (members) => Object.entries(members).map(([name, value]) => `${name}=${value}\n`);
    const text = Object.entries(sections).map(([name, members]) => `[${name}]\n${linesOf(members).join("")}`);
    writeFileSync(join(folder, "supervisord.conf"), text.join(""));
  }

  async start() {
    const options = { cwd: this.#folder, stdio: "ignore", detached: true };
    this.#child = spawn(this.#bin, ["-n", "-c", "supervisord.conf"], options);
    this.#child.unref();
  }

  async kill() {
    const { pid } = this.#child;
    return kill(pid) ? [pid] : [];
  }

  async comeBack() {
    await this.start();
  }

  async running() {
    return [...this.#control("status").matchAll(/^(\S+)\s+RUNNING/gm)].map(([, id]) => id);
  }

  async end() {
    this.#control("shutdown");
    await within(30_000, () => !isAlive(this.#child.pid));
  }

  exits() {
    const log = readFileSync(join(this.#folder, "supervisord.log"), "utf8");
    return exitsIn(log, /exited: (\S+) \(exit status (\d+);/g);
  }

  /** Its exit code is 0 only if all processes run. */
  #control(command) {
    try {
      const options = { cwd: this.#folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] };
      return execFileSync("supervisorctl", ["-c", "supervisord.conf", command], options);
    } catch (error) {
      return String(error.stdout ?? "");
    }
  }
}
