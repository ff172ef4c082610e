/** A Docker Swarm of three managers on one machine: each engine in a network namespace, joined by a bridge. Nothing is installed. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { BridgedMachines } from "./bridged-machines.ts";
import { DockerEngine, unpackPackages } from "./docker-engine.ts";
import { skip } from "./skip.ts";
import { isMissing } from "./system-programs.ts";

export const NODES = ["a", "b", "c"] as const;
export type NodeName = (typeof NODES)[number];
/** Programs of the image, beside Node. */
const PROGRAMS = ["bash", "dash", "cat", "sleep", "timeout", "env"];
export const MACHINES = new BridgedMachines("10.77.0", NODES);

export class SwarmRig {
  readonly folder: string;
  readonly #engines = new Map<NodeName, DockerEngine>();

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** undefined: this machine can't, and the test is skipped. */
  static async create(context: TestContext): Promise<SwarmRig | undefined> {
    if (["apt-get", "dpkg", "ip", "nsenter"].some((program) => isMissing(context, program))) return undefined;
    if (process.getuid?.() !== 0) return skip(context, "network namespaces need root");
    const rig = new SwarmRig(mkdtempSync(join(tmpdir(), "procman-swarm-")));
    context.after(() => rig.#end());
    const root = unpackPackages(rig.folder);
    MACHINES.create();
    for (const name of NODES) rig.#start(name, root);
    for (const engine of rig.#engines.values()) await engine.ready();
    rig.docker("a", "swarm", "init", "--advertise-addr", MACHINES.addressOf("a"));
    const token = rig.docker("a", "swarm", "join-token", "-q", "manager").trim();
    for (const name of ["b", "c"] as const)
      rig.docker(
        name,
        "swarm",
        "join",
        "--token",
        token,
        "--advertise-addr",
        MACHINES.addressOf(name),
        `${MACHINES.addressOf("a")}:2377`,
      );
    return rig;
  }

  docker(name: NodeName, ...args: readonly string[]): string {
    return this.#engine(name).docker(...args);
  }

  /** undefined: it has failed. */
  tryDocker(name: NodeName, ...args: readonly string[]): string | undefined {
    return this.#engine(name).tryDocker(...args);
  }

  /** Gives all engines an image of Node with these files in `/app`. */
  image(tag: string, files: Readonly<Record<string, string>>): void {
    const root = join(this.folder, "image");
    copy(process.execPath, join(root, "usr/local/bin/node"));
    for (const program of PROGRAMS)
      copy(
        execFileSync("/bin/sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).trim(),
        join(root, "bin", program),
      );
    symlinkSync("dash", join(root, "bin/sh"));
    for (const file of [
      join(root, "usr/local/bin/node"),
      ...readdirSync(join(root, "bin")).map((name) => join(root, "bin", name)),
    ])
      for (const library of librariesOf(file)) if (!existsSync(join(root, library))) copy(library, join(root, library));
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(root, "app"), { recursive: true });
      writeFileSync(join(root, "app", name), text);
    }
    execFileSync("tar", ["-C", root, "-cf", join(this.folder, "image.tar"), "."]);
    for (const name of NODES) this.docker(name, "import", join(this.folder, "image.tar"), tag);
  }

  /** A program that is in the network of all nodes. */
  inNetwork(program: string, args: readonly string[]): ChildProcess {
    return spawn("nsenter", [`--net=${MACHINES.hub}`, program, ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
  }

  /** Cuts the node's link. */
  cut(name: NodeName): void {
    MACHINES.cut(name);
  }

  #engine(name: NodeName): DockerEngine {
    const engine = this.#engines.get(name);
    if (engine === undefined) throw new Error(`the engine ${name} is not started`);
    return engine;
  }

  #place(name: NodeName): string {
    return join(this.folder, name);
  }

  #start(name: NodeName, root: string): void {
    const launcher = ["nsenter", `--net=${MACHINES.of(name)}`];
    const options = ["--storage-driver=vfs", "--ip-masq=false", "--ip-forward=false", "--bridge=none"];
    this.#engines.set(name, new DockerEngine({ root, place: this.#place(name), launcher, options }));
  }

  async #end(): Promise<void> {
    for (const engine of this.#engines.values()) engine.tryDocker("swarm", "leave", "--force");
    for (const { process: engine } of this.#engines.values()) {
      const ended = new Promise((resolve) => engine.once("exit", resolve));
      // It ends its containers, too.
      if (engine.exitCode === null && engine.kill("SIGTERM")) await ended;
    }
    MACHINES.remove();
    for (const name of NODES) {
      const mounted = join(this.#place(name), "run/netns/default");
      if (existsSync(mounted)) execFileSync("/bin/sh", ["-c", `umount -l ${mounted} 2>/dev/null || true`]);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function librariesOf(file: string): readonly string[] {
  return [...execFileSync("ldd", [file], { encoding: "utf8" }).matchAll(/(\/\S+\.so\S*)/g)].map(
    ([, library = ""]) => library,
  );
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  execFileSync("cp", ["-L", from, to]);
}
