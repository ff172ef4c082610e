/** A machine with a real systemd, in separate namespaces: it boots in a second, reboots, and loses its power. */
import { type ChildProcessWithoutNullStreams, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type { Outcome } from "./cli.ts";
import { PACKAGE, ROOT } from "./product.ts";

/** A wait for an event inside, and a command. Milliseconds. */
const TIMEOUT_MS = 30_000;
const POLL_MS = 20;
const MAX_OUTPUT_BYTES = 16_000_000;

/** Where Node and procman are installed in it. */
const NODES = "/opt/nvm/versions/node";
/** That of the Node which is installed. */
export const NODE_FOLDER: string = join(NODES, process.version);

/** The checkout, to be read only. */
export const CHECKOUT = "/srv/checkout";

export class SystemdBox {
  readonly #folder: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #lines: AsyncIterator<string>;
  #first = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.#child = spawn(join(ROOT, "test/support/systemd-box.sh"), [folder, process.execPath, PACKAGE], {
      stdio: "pipe",
    });
    this.#child.stderr.pipe(process.stderr);
    this.#lines = createInterface(this.#child.stdout)[Symbol.asyncIterator]();
  }

  /** Of a suite: whether it must be skipped, and why. With `CI=true` it fails instead. */
  static get skip(): string | false {
    const { problem } = SystemdBox;
    if (problem === undefined || process.env.CI === "true") return false;
    console.error(`!!! SKIPPED: ${problem}`);
    return problem;
  }

  private static get problem(): string | undefined {
    if (process.platform !== "linux" || process.getuid?.() !== 0) return "a machine in namespaces needs Linux and root";
    return existsSync("/lib/systemd/systemd") ? undefined : "systemd is not installed";
  }

  static async boot(): Promise<SystemdBox> {
    if (SystemdBox.problem !== undefined) throw new Error(SystemdBox.problem);
    // Not below /tmp, which is empty in the box.
    const box = new SystemdBox(mkdtempSync("/var/tmp/procman-box-"));
    await box.#boot();
    return box;
  }

  /** Runs a command of the shell, as root; ends it after `timeoutMs`. */
  run(command: string, env: Readonly<Record<string, string>> = {}, timeoutMs = TIMEOUT_MS): Promise<Outcome> {
    const namespaces = ["--mount", "--pid", "--cgroup", "--uts", "--ipc", "--net", "--root", "--wd"];
    const variables = {
      HOME: "/root",
      LANG: "C.UTF-8",
      PATH: `${NODE_FOLDER}/bin:/usr/sbin:/usr/bin:/sbin:/bin`,
      ...env,
    };
    const args = [`--target=${this.#first}`, ...namespaces, "--", "/bin/sh", "-c", command];
    return new Promise((resolve) => {
      execFile(
        "nsenter",
        args,
        { env: variables, timeout: timeoutMs, maxBuffer: MAX_OUTPUT_BYTES },
        (error, out, err) => resolve({ code: error === null ? 0 : Number(error.code ?? 1), out, err }),
      );
    });
  }

  /** Its output without the line break; fails the test if the command fails. */
  async must(command: string): Promise<string> {
    const { code, out, err } = await this.run(command);
    if (code !== 0) throw new Error(`${command} has ended with ${code}: ${err || out}\n${await this.#journal()}`);
    return out.trimEnd();
  }

  async write(path: string, text: string): Promise<void> {
    const data = Buffer.from(text).toString("base64");
    await this.must(`mkdir -p "$(dirname '${path}')" && echo ${data} | base64 -d >'${path}'`);
  }

  /** A command that runs another one with this user's rights and environment. */
  static as(user: string, command: string): string {
    const rights = `setpriv --reuid=${user} --regid=${user} --init-groups`;
    return `${rights} env HOME=/home/${user} USER=${user} /bin/sh -c '${command.replaceAll("'", "'\\''")}'`;
  }

  as(user: string, command: string): Promise<Outcome> {
    return this.run(SystemdBox.as(user, command));
  }

  /** Waits until the command succeeds; gives its output. */
  async eventually(command: string): Promise<string> {
    for (const deadline = performance.now() + TIMEOUT_MS; ; await sleep(POLL_MS)) {
      const { code, out, err } = await this.run(command);
      if (code === 0) return out.trimEnd();
      if (performance.now() > deadline)
        throw new Error(`${command} has not succeeded: ${err || out}\n${await this.#journal()}`);
    }
  }

  /** Everything ends in order first. `off`: while it is switched off. */
  async reboot(off: () => Promise<unknown> = async () => undefined): Promise<void> {
    await this.run("systemctl isolate --no-block poweroff.target");
    for (
      const deadline = performance.now() + TIMEOUT_MS;
      existsSync(`/proc/${this.#first}`) && performance.now() < deadline;
    )
      await sleep(POLL_MS);
    await this.powerCut(off);
  }

  async powerCut(before: () => Promise<unknown> = async () => undefined): Promise<void> {
    await before();
    await this.#tell("cut");
    await this.#boot();
  }

  async close(): Promise<void> {
    this.#child.stdin.end();
    if (this.#child.exitCode === null) await once(this.#child, "exit");
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #boot(): Promise<void> {
    this.#first = Number((await this.#tell("boot")).split(" ")[1]);
    await this.eventually(
      "[ -S /run/systemd/private ] && case $(systemctl is-system-running) in running | degraded) ;; *) false ;; esac",
    );
  }

  async #tell(command: string): Promise<string> {
    this.#child.stdin.write(`${command}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error(`the box has ended:\n${readFileSync(join(this.#folder, "console"), "utf8")}`);
    return String(value);
  }

  async #journal(): Promise<string> {
    return (await this.run("journalctl --lines=15 --no-pager --output=cat")).out;
  }
}
