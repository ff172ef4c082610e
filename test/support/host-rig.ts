/** Three machines with sshd and procman, and HAProxy in front, each in a network namespace; a bridge joins them. */
import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { TestContext } from "node:test";
import { BridgedMachines } from "./bridged-machines.ts";
import { keeperIn, type Outcome, procman } from "./cli.ts";
import { childrenOf } from "./proc-files.ts";
import { cleanEnvironment, eventually, processExit } from "./procman-process.ts";
import { BIN } from "./product.ts";
import { skip } from "./skip.ts";
import { isMissing, SYSTEM_PATHS } from "./system-programs.ts";

export const HOSTS = ["web1", "web2", "web3"] as const;
export type HostName = (typeof HOSTS)[number];
export const MACHINES = new BridgedMachines("10.78.0", HOSTS);
const SSH_PORT = 2222;
const WEB_PORT = 3000;

/** A program of a release: answers with its version, and ends when its requests are answered. What it prints when it is ready is in no line that Node quotes of it. */
const SERVER = `const { existsSync, readFileSync } = require("node:fs");
const version = readFileSync(\`\${__dirname}/VERSION\`, "utf8").trim();
if (version !== "2" && existsSync(\`\${__dirname}/../../refuse\`)) throw new Error("this host refuses it");
const server = require("node:http").createServer((_request, response) => setTimeout(() => response.end(version), 5));
server.listen(${WEB_PORT}, () => console.log(\`serving \${version}\`));
process.on("SIGTERM", () => server.close(() => process.exit()));
`;

export class HostRig {
  readonly folder: string;
  /** HAProxy's runtime API. */
  readonly haproxy: string;
  readonly #servers = new Map<string, ChildProcess>();

  private constructor(folder: string) {
    this.folder = folder;
    this.haproxy = join(folder, "haproxy.sock");
  }

  /** `config`: of procman on each host, beside its process. undefined: this machine can't, and the test is skipped. */
  static async create(context: TestContext, config: object = {}): Promise<HostRig | undefined> {
    const programs = ["ip", "nsenter", "unshare", "ssh", "sshd", "haproxy", "rsync"];
    if (programs.some((program) => isMissing(context, program))) return undefined;
    if (process.getuid?.() !== 0) return skip(context, "network namespaces need root");
    const rig = new HostRig(mkdtempSync(join(tmpdir(), "procman-hosts-")));
    context.after(() => rig.#end());
    MACHINES.create();
    rig.#keys();
    await Promise.all(HOSTS.map((name) => rig.#startHost(name, config)));
    rig.#startHaproxy();
    await rig.#addHosts();
    return rig;
  }

  /** The same with a release "1" on all hosts. */
  static async withRelease(context: TestContext, config: object = {}): Promise<HostRig | undefined> {
    const rig = await HostRig.create(context, config);
    if (rig === undefined) return undefined;
    const { code, err } = await rig.run("deploy", rig.build("1"), "--host", "@web", "--batch", "100%");
    if (code !== 0) throw new Error(err);
    await eventually(async () => (await rig.notUp()).length === 0 || undefined, { what: "servers that are up" });
    return rig;
  }

  /** A command that puts this version on all hosts, or takes it back. */
  rolling(version: string): readonly string[] {
    const drain = ["--haproxy", this.haproxy];
    return ["deploy", this.build(version), "--host", "@web", ...drain, "--on-failure", "rollback"];
  }

  /** The environment of a client: its list of hosts is in this folder. */
  env(settings = this.folder): NodeJS.ProcessEnv {
    const ssh = `nsenter --net=${MACHINES.hub} ssh -F ${join(this.folder, "ssh_config")}`;
    return { XDG_CONFIG_HOME: settings, PROCMAN_SSH: ssh };
  }

  /** A command on the machine of the client. */
  run(...args: readonly string[]): Promise<Outcome> {
    return this.runAs(this.folder, ...args);
  }

  /** The same by another user, whose list of hosts is in this folder. */
  runAs(settings: string, ...args: readonly string[]): Promise<Outcome> {
    return procman(this.folder, args, this.env(settings));
  }

  /** A command that may be killed. */
  start(...args: readonly string[]): ChildProcess {
    return spawn(process.execPath, [BIN, ...args], {
      cwd: this.folder,
      env: cleanEnvironment(this.env()),
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  /** A program on a host, as root. */
  on(name: HostName, ...[program, ...args]: readonly [string, ...string[]]): Promise<Outcome> {
    const pid = this.#servers.get(name)?.pid ?? 0;
    const spaces = [`--net=${MACHINES.of(name)}`, `--mount=/proc/${pid}/ns/mnt`];
    const words = [...spaces, "/bin/sh", "-c", 'cd "$0" && exec "$@"', this.place(name), program, ...args];
    return new Promise((resolve) => {
      execFile("nsenter", words, { env: this.#hostEnv(name) }, (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, err }),
      );
    });
  }

  /** Where procman of a host has its configuration. */
  place(name: HostName): string {
    return join(this.folder, name, "shop");
  }

  /** For uploads there. */
  stateHome(name: HostName): string {
    return join(this.folder, name, "state");
  }

  /** What each host has of uploads. */
  get uploads(): readonly (readonly string[])[] {
    return HOSTS.map((name) => readdirSync(join(this.stateHome(name), "procman/uploads")));
  }

  /** A release, to be deployed from here. */
  build(version: string, files: Readonly<Record<string, string>> = {}): string {
    const folder = join(this.folder, "builds", version);
    mkdirSync(folder, { recursive: true });
    for (const [name, text] of Object.entries({ VERSION: `${version}\n`, "main.cjs": SERVER, ...files }))
      writeFileSync(join(folder, name), text);
    return folder;
  }

  /** That of the release in use; undefined: there is none. */
  version(name: HostName): string | undefined {
    const file = join(this.place(name), "current/VERSION");
    return existsSync(file) ? readFileSync(file, "utf8").trim() : undefined;
  }

  get versions(): readonly (string | undefined)[] {
    return HOSTS.map((name) => this.version(name));
  }

  /** Those that HAProxy gives no requests. */
  async notUp(): Promise<readonly HostName[]> {
    const states = await Promise.all(HOSTS.map((name) => this.serverStatus(name)));
    return HOSTS.filter((_, index) => !states[index]?.startsWith("UP"));
  }

  /** What HAProxy says of a server, such as `UP` or `DRAIN`. */
  async serverStatus(name: HostName): Promise<string> {
    const socket = connect(this.haproxy).end("show stat -1 4 -1\n");
    const [head = [], ...rows] = (await text(socket)).split("\n").map((line) => line.split(","));
    return rows.find((row) => row[1] === name)?.[head.indexOf("status")] ?? "";
  }

  /** Pulls the plug of its network. */
  cut(name: HostName): void {
    MACHINES.cut(name);
  }

  /** Puts it in again; resolves when sshd answers. */
  async join(name: HostName): Promise<void> {
    MACHINES.join(name);
    const dial = `exec 3<>/dev/tcp/${MACHINES.addressOf(name)}/${SSH_PORT}`;
    const words = [`--net=${MACHINES.hub}`, "bash", "-c", dial];
    await eventually(() => spawnSync("nsenter", words).status === 0 || undefined, { what: `sshd of ${name}` });
  }

  /** Requests through HAProxy, by so many clients at once. */
  load(context: TestContext, count = 3): FrontLoad {
    const load = new FrontLoad(join(this.folder, "front.sock"), count);
    context.after(() => load.stop());
    return load;
  }

  #keys(): void {
    const key = join(this.folder, "user");
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
    const options = [
      `IdentityFile ${key}`,
      "IdentitiesOnly yes",
      "StrictHostKeyChecking accept-new",
      `UserKnownHostsFile ${join(this.folder, "known_hosts")}`,
      "LogLevel ERROR",
    ];
    writeFileSync(join(this.folder, "ssh_config"), `${options.join("\n")}\n`);
    // The tested one, in the PATH of nobody else.
    writeFileSync(join(this.folder, "bin-procman"), `#!/bin/sh\nexec '${process.execPath}' '${BIN}' "$@"\n`);
    chmodSync(join(this.folder, "bin-procman"), 0o755);
  }

  async #startHost(name: HostName, config: object): Promise<void> {
    const place = join(this.folder, name);
    for (const folder of [this.place(name), this.stateHome(name)]) mkdirSync(folder, { recursive: true });
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(place, "host_key")]);
    const options = [
      `Port ${SSH_PORT}`,
      `ListenAddress ${MACHINES.addressOf(name)}`,
      `HostKey ${join(place, "host_key")}`,
      `AuthorizedKeysFile ${join(this.folder, "user.pub")}`,
      "StrictModes no",
      "UsePAM no",
      "PidFile none",
      "PasswordAuthentication no",
      "KbdInteractiveAuthentication no",
      "PermitRootLogin prohibit-password",
      `SetEnv XDG_STATE_HOME=${this.stateHome(name)} XDG_CONFIG_HOME=${join(place, "config")}`,
    ];
    writeFileSync(join(place, "sshd_config"), `${options.join("\n")}\n`);
    mkdirSync("/run/sshd", { recursive: true });
    const sshd = programFile("sshd");
    const words = [`--net=${MACHINES.of(name)}`, "unshare", "--mount", "--propagation", "private", sshd];
    const server = spawn("nsenter", [...words, "-D", "-e", "-f", join(place, "sshd_config")], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#servers.set(name, server);
    await saying(server, "Server listening");
    const web = {
      id: "web",
      cmd: "node main.cjs",
      cwd: "current",
      autostart: true,
      ready: { log: "serving" },
      minUptimeMs: 50,
    };
    const shop = { name: "shop", api: false, releases: {}, processes: [web], ...config };
    writeFileSync(join(this.place(name), "procman.json"), JSON.stringify(shop));
    // Its process can't start before the first release.
    await this.on(name, process.execPath, BIN, "run", "--detach");
    if (keeperIn(this.#stateOf(name)) === 0) throw new Error(`procman does not run on ${name}`);
  }

  #stateOf(name: HostName): string {
    return join(this.place(name), ".procman/shop");
  }

  #startHaproxy(): void {
    const config = [
      "global",
      `  stats socket ${this.haproxy} mode 600 level admin`,
      "defaults",
      "  mode http",
      "  timeout connect 2s",
      "  timeout client 30s",
      "  timeout server 30s",
      // On a busy machine no server may seem to be down.
      "  timeout check 5s",
      "frontend front",
      `  bind ${join(this.folder, "front.sock")}`,
      "  default_backend shop",
      "backend shop",
      "  option httpchk GET /",
      "  balance roundrobin",
      ...HOSTS.map(
        (name) => `  server ${name} ${MACHINES.addressOf(name)}:${WEB_PORT} check inter 200ms rise 1 fall 2`,
      ),
    ];
    writeFileSync(join(this.folder, "haproxy.cfg"), `${config.join("\n")}\n`);
    const words = [`--net=${MACHINES.hub}`, programFile("haproxy"), "-db", "-q"];
    this.#servers.set(
      "haproxy",
      spawn("nsenter", [...words, "-f", join(this.folder, "haproxy.cfg")], { stdio: ["ignore", "ignore", "inherit"] }),
    );
  }

  async #addHosts(): Promise<void> {
    const { username } = userInfo();
    await eventually(() => existsSync(this.haproxy) || undefined, { what: "HAProxy's socket" });
    for (const name of HOSTS) {
      const url = `ssh://${username}@${MACHINES.addressOf(name)}:${SSH_PORT}${this.place(name)}`;
      const program = join(this.folder, "bin-procman");
      const { code, err } = await this.run("host", "add", name, url, "--group", "web", "--program", program);
      if (code !== 0) throw new Error(err);
    }
  }

  #hostEnv(name: HostName): NodeJS.ProcessEnv {
    return cleanEnvironment({
      XDG_STATE_HOME: this.stateHome(name),
      XDG_CONFIG_HOME: join(this.folder, name, "config"),
    });
  }

  async #end(): Promise<void> {
    for (const name of HOSTS) {
      const keeper = keeperIn(this.#stateOf(name));
      if (keeper === 0) continue;
      process.kill(keeper, "SIGTERM");
      await processExit(keeper);
    }
    for (const server of this.#servers.values()) {
      if (server.exitCode !== null || server.signalCode !== null) continue;
      const ended = once(server, "exit");
      // With the sessions of sshd.
      for (const pid of [...childrenOf(server.pid ?? 0), server.pid ?? 0]) process.kill(pid, "SIGKILL");
      await ended;
    }
    MACHINES.remove();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Asks all the time, and notes what has failed. */
class FrontLoad {
  readonly failures: string[] = [];
  /** How often each version has answered. */
  readonly answers = new Map<string, number>();
  readonly #socket: string;
  readonly #clients: readonly Promise<void>[];
  #isOver = false;

  constructor(socket: string, count: number) {
    this.#socket = socket;
    this.#clients = Array.from({ length: count }, () => this.#run());
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #run(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!this.#isOver)
      await this.#ask(agent).then(
        (version) => this.answers.set(version, (this.answers.get(version) ?? 0) + 1),
        (error: Error) => this.failures.push(error.message),
      );
    agent.destroy();
  }

  #ask(agent: Agent): Promise<string> {
    return new Promise((resolve, reject) => {
      const asked = request({ socketPath: this.#socket, path: "/", agent }, (answer) => {
        let body = "";
        answer.setEncoding("utf8").on("data", (text: string) => {
          body += text;
        });
        answer.once("end", () =>
          answer.statusCode === 200 ? resolve(body) : reject(new Error(`status ${answer.statusCode}`)),
        );
        answer.once("error", reject);
      });
      asked.once("error", reject).end();
    });
  }
}

function programFile(name: string): string {
  const folders = [...SYSTEM_PATHS, ...(process.env.PATH ?? "").split(":")];
  const folder = folders.find((each) => existsSync(join(each, name)));
  if (folder === undefined) throw new Error(`${name} is not installed`);
  return join(folder, name);
}

function saying(server: ChildProcess, words: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let said = "";
    server.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
      if (said.includes(words)) resolve();
    });
    server.once("error", reject).once("exit", () => reject(new Error(`it has ended: ${said}`)));
  });
}
