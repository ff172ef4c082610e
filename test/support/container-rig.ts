/** Containers of the image that `docker/Dockerfile` builds, on a Docker engine in namespaces. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { installProduct } from "../../scripts/packed-product.mjs";
import { DockerEngine, unpackPackages, until } from "./docker-engine.ts";
import { nodeImage } from "./node-image.ts";
import { ROOT } from "./product.ts";
import { skip } from "./skip.ts";
import { isMissing } from "./system-programs.ts";

export const IMAGE = "shop";
/** As docs/guide/containers.md has it. */
export const READ_ONLY = ["--read-only", "--tmpfs", "/run/procman:size=64m"];
/** Processes of the namespace end with its first one, which is not an engine: an engine waits for no orphans. */
const NAMESPACES = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"];

export type Entry = {
  readonly process?: string;
  readonly category: string;
  readonly text: string;
  readonly run?: number;
};
export type ProcessRecord = {
  readonly id: string;
  readonly status: string;
  readonly pid?: number;
  readonly restarts: number;
};

export class ContainerRig {
  readonly engine: DockerEngine;
  /** The project that is built. */
  readonly project: string;
  #configurations = 0;

  private constructor(folder: string, root: string) {
    this.project = join(folder, "project");
    const launcher = [
      ...NAMESPACES,
      `${root}/usr/bin/tini-static`,
      "--",
      "sh",
      "-c",
      'ip link set lo up; exec "$@"',
      "sh",
    ];
    this.engine = new DockerEngine({
      root,
      place: join(folder, "engine"),
      launcher,
      options: ["--storage-driver=overlay2"],
    });
  }

  /** With the image, of a project with this configuration. undefined: this machine can't, and the test is skipped. */
  static async create(context: TestContext, configuration: string): Promise<ContainerRig | undefined> {
    if (["apt-get", "dpkg", "ip", "unshare"].some((program) => isMissing(context, program))) return undefined;
    if (process.getuid?.() !== 0) return skip(context, "an engine in namespaces needs root");
    const folder = mkdtempSync(join(tmpdir(), "procman-container-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const root = unpackPackages(folder, "debootstrap");
    const base = await nodeImage(folder);
    const rig = new ContainerRig(folder, root);
    context.after(() => rig.#end());
    await rig.engine.ready();
    rig.docker("import", base, "node:22-slim");
    await rig.#writeProject(configuration);
    rig.docker("build", "-t", IMAGE, rig.project);
    return rig;
  }

  docker(...args: readonly string[]): string {
    return this.engine.docker(...args);
  }

  /** Starts a container in the background, which is removed with the test. `arguments_`: options, image and command. */
  start(context: TestContext, name: string, ...arguments_: readonly string[]): void {
    context.after(() => this.docker("rm", "-fv", name));
    this.docker("run", "-d", "--name", name, ...arguments_);
  }

  /** Options that give a container another configuration. */
  configured(processes: readonly object[], more: object = {}): readonly string[] {
    const file = join(this.project, "..", `configuration-${this.#configurations++}.json`);
    const logger = { console: true, format: "json", internalLogSize: "16MB" };
    writeFileSync(file, JSON.stringify({ name: "shop", logger, terminateTimeout: 8, processes, ...more }));
    return ["-v", `${file}:/app/procman.jsonc:ro`];
  }

  /** Standard output of a command in the container. */
  inside(name: string, ...command: readonly string[]): string {
    return this.docker("exec", name, ...command);
  }

  signal(name: string, signal: string, pid: number): void {
    this.inside(name, "sh", "-c", `kill -${signal} ${pid}`);
  }

  records(name: string): readonly ProcessRecord[] {
    // 3: a process has failed.
    const command = "procman status --json || [ $? = 3 ]";
    return JSON.parse(this.engine.tryDocker("exec", name, "sh", "-c", command) ?? "[]");
  }

  /** Resolves with the records once all these processes run. */
  async running(name: string, ...ids: readonly string[]): Promise<readonly ProcessRecord[]> {
    let found: readonly ProcessRecord[] = [];
    const all = (): boolean => {
      found = this.records(name);
      return ids.every((id) => found.some((record) => record.id === id && record.status === "running"));
    };
    await until(all, `${ids.join(", ")} in ${name}: ${this.engine.tryDocker("logs", name)}`);
    return found;
  }

  /** What `docker logs` shows of both streams. */
  logs(name: string, script = 'docker logs "$0" 2>&1'): readonly string[] {
    const output = execFileSync("sh", ["-c", script, name], {
      env: this.engine.environment,
      encoding: "utf8",
      maxBuffer: 1 << 28,
    });
    return output.split("\n").slice(0, -1);
  }

  /** Each line must be an object of JSON. One stream after the other: the log driver divides long lines, and mixes the parts. */
  entries(name: string): readonly Entry[] {
    return this.logs(name, 'docker logs "$0" 2>/dev/null; docker logs "$0" 2>&1 >/dev/null').map(
      (line) => JSON.parse(line) as Entry,
    );
  }

  /** A value of `docker inspect`, as `.State.ExitCode`. */
  inspect(name: string, value: string): string {
    return this.docker("inspect", "-f", `{{${value}}}`, name).trim();
  }

  /** Titles of all processes of the container, by pid; a zombie has none. */
  titles(name: string): ReadonlyMap<number, string> {
    const script =
      'for p in /proc/[0-9]*; do printf "%s %s\\n" "${p#/proc/}" "$(tr "\\0" " " < "$p/cmdline")"; done 2>/dev/null';
    const lines = this.inside(name, "sh", "-c", script).trim().split("\n");
    return new Map(
      lines.map((line) => [Number(line.slice(0, line.indexOf(" "))), line.slice(line.indexOf(" ") + 1).trim()]),
    );
  }

  /** The pid of one of procman's own processes. */
  part(name: string, part: "keeper" | "service" | "logger"): number {
    return [...this.titles(name)].find(([, title]) => title.endsWith(`: ${part}`))?.[0] ?? 0;
  }

  zombies(name: string): number {
    const script = 'grep -l "^State:.Z" /proc/[0-9]*/status 2>/dev/null | wc -l';
    return Number(this.inside(name, "sh", "-c", script));
  }

  async #writeProject(configuration: string): Promise<void> {
    const { PROCMAN_TEST_PACKAGE: product } = await installProduct();
    const home = join(product, "../..");
    const tarball = readdirSync(home).find((name) => name.endsWith(".tgz")) ?? "";
    cpSync(join(ROOT, "test/pages/project"), this.project, { recursive: true });
    cpSync(join(ROOT, "docker"), this.project, { recursive: true });
    cpSync(join(ROOT, "test/programs"), join(this.project, "programs"), { recursive: true });
    cpSync(join(home, tarball), join(this.project, tarball));
    writeFileSync(join(this.project, "procman.jsonc"), configuration);
    mkdirSync(join(this.project, ".procman"));
    writeFileSync(join(this.project, ".procman/secret"), "of the development machine");
    execFileSync("npm", ["install", "--package-lock-only", "--offline", `./${tarball}`], {
      cwd: this.project,
      stdio: "pipe",
    });
  }

  async #end(): Promise<void> {
    const all = this.engine.tryDocker("ps", "-aq")?.split("\n").filter(Boolean) ?? [];
    if (all.length > 0) this.engine.tryDocker("rm", "-f", ...all);
    const ended = once(this.engine.process, "exit");
    // unshare ignores SIGTERM; the first process of its namespace ends with it, and all others with that.
    if (this.engine.process.exitCode === null && this.engine.process.kill("SIGKILL")) await ended;
  }
}
