/** A Docker engine of Debian's packages, in namespaces. Nothing is installed. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdirSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";

const PACKAGES = ["docker.io", "containerd", "runc", "tini"];
const POLL_MS = 200;

/** Downloads packages into the folder and unpacks them there. Returns the root of their files. */
export function unpackPackages(folder: string, ...more: readonly string[]): string {
  const root = join(folder, "root");
  execFileSync("apt-get", ["download", "-q", ...PACKAGES, ...more], { cwd: folder, stdio: "pipe" });
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".deb")))
    execFileSync("dpkg", ["-x", join(folder, file), root]);
  return root;
}

export type EngineOptions = {
  /** That of `unpackPackages`. */
  readonly root: string;
  /** Its folder, which is created. */
  readonly place: string;
  /** The command that starts it in its namespaces. */
  readonly launcher: readonly string[];
  readonly options: readonly string[];
};

export class DockerEngine {
  readonly process: ChildProcess;
  readonly environment: NodeJS.ProcessEnv;
  readonly #place: string;

  constructor({ root, place, launcher, options }: EngineOptions) {
    this.#place = place;
    const PATH = `${root}/usr/bin:${root}/usr/sbin:${process.env.PATH}`;
    this.environment = { ...process.env, PATH, DOCKER_HOST: `unix://${place}/socket` };
    const paths = [
      `--data-root=${place}/data`,
      `--exec-root=${place}/run`,
      `--pidfile=${place}/pid`,
      `--host=unix://${place}/socket`,
    ];
    const [program = "", ...args] = [...launcher, "dockerd", "--iptables=false", ...options, ...paths];
    mkdirSync(place);
    const log = openSync(join(place, "log"), "w");
    const init = `--init-path=${root}/usr/bin/tini-static`;
    this.process = spawn(program, [...args, init], { env: { ...process.env, PATH }, stdio: ["ignore", log, log] });
  }

  /** Its standard output. */
  docker(...args: readonly string[]): string {
    const options = { env: this.environment, cwd: join(this.#place, ".."), maxBuffer: 1 << 28 };
    return execFileSync("docker", args, { ...options, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  }

  /** undefined: it has failed. */
  tryDocker(...args: readonly string[]): string | undefined {
    try {
      return this.docker(...args);
    } catch {
      return undefined;
    }
  }

  ready(): Promise<number> {
    return until(() => this.tryDocker("info") !== undefined, `the engine in ${this.#place}`);
  }
}

/** Polls: Docker has no event for what is awaited here. Resolves with the milliseconds that it took. */
export async function until(holds: () => boolean, what: string, ms = 120_000): Promise<number> {
  const start = performance.now();
  while (!holds()) {
    if (performance.now() - start > ms) throw new Error(`timed out after ${ms} ms waiting for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return performance.now() - start;
}
