/** Runs the same programs under another process manager and, after an import, under procman, and compares what they saw. */
import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { keeperIn, procman } from "./cli.ts";
import { cleanEnvironment, eventually, processExit } from "./procman-process.ts";
import { ROOT } from "./product.ts";

export const WRITE_DOWN: string = join(ROOT, "test/programs/write-down.cjs");

/** Arguments: NAME CODE. Writes down that it has started, and ends. */
export const QUICK_END = `echo '{"args":[]}' >> "$WRITTEN_DOWN/$1.jsonl"\nexit "$2"\n`;

/** One start of a program, or a signal that it got. */
export type Seen = {
  /** When it was written. Milliseconds. */
  readonly at?: number;
  readonly args?: readonly string[];
  readonly signal?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly [what: string]: unknown;
};

/** Between two changes of a file that restarts a program. Milliseconds. */
const TOUCH_MS = 700;

export class PeerRig {
  readonly folder: string;
  /** Files that restart a program, by its name. */
  readonly #watched: Readonly<Record<string, string>>;
  #touched = 0;

  constructor(folder: string, watched: Readonly<Record<string, string>> = {}) {
    this.folder = folder;
    this.#watched = watched;
  }

  /** Where the programs write below this name. */
  #written(run: string): string {
    mkdirSync(join(this.folder, run), { recursive: true });
    return join(this.folder, run);
  }

  environment(run: string): NodeJS.ProcessEnv {
    return cleanEnvironment({ WRITTEN_DOWN: this.#written(run) });
  }

  /** Runs a command of the other manager. */
  command(run: string, [program = "", ...args]: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<string> {
    return new Promise((resolve, reject) => {
      execFile(program, args, { cwd: this.folder, env: { ...this.environment(run), ...env } }, (error, out, err) =>
        error === null ? resolve(out) : reject(new Error(`${program} ${args.join(" ")}: ${out}${err}`)),
      );
    });
  }

  /** Resolves when each program has started so many times, and has got so many signals. */
  async wait(run: string, counts: Readonly<Record<string, number>>, signals = false): Promise<void> {
    for (const [name, count] of Object.entries(counts))
      await eventually(
        () => {
          const seen = this.seen(run, name).filter(({ signal }) => (signal !== undefined) === signals).length;
          // When a manager has begun to watch is not to be seen.
          if (!signals && seen > 0 && seen < count) this.#touch(name);
          return seen >= count || undefined;
        },
        {
          what: `${count} ${signals ? "signals" : "starts"} of ${name} under ${run}: ${JSON.stringify(this.seen(run, name))}`,
        },
      );
  }

  #touch(name: string): void {
    const file = this.#watched[name];
    const now = performance.now();
    if (file === undefined || now - this.#touched < TOUCH_MS) return;
    this.#touched = now;
    writeFileSync(join(this.folder, file), String(now));
  }

  seen(run: string, name: string): readonly Seen[] {
    const file = join(this.#written(run), `${name}.jsonl`);
    if (!existsSync(file)) return [];
    return readFileSync(file, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Seen);
  }

  /** For how long a program went on after the signal that it ignored. Milliseconds; 0: it got none. */
  lived(run: string, name: string): number {
    const file = join(this.#written(run), `${name}.lived`);
    return existsSync(file) ? Number(readFileSync(file, "utf8").trimEnd().split("\n").at(-1)) : 0;
  }

  /** Runs the imported configuration until the counts are reached, and stops it. */
  async underProcman(
    starts: Readonly<Record<string, number>>,
    signals: Readonly<Record<string, number>>,
    outer: NodeJS.ProcessEnv = {},
  ): Promise<void> {
    const env = { WRITTEN_DOWN: this.#written("procman"), ...outer };
    const { code, err } = await procman(this.folder, ["run", "--detach"], env);
    assert.ok(code === 0 || code === 1, err);
    await this.wait("procman", starts);
    await procman(this.folder, ["terminate"], env);
    await this.wait("procman", signals, true);
  }

  /** Ends what a failed test has left. */
  async end(): Promise<void> {
    const states = join(this.folder, ".procman");
    for (const name of existsSync(states) ? readdirSync(states).filter((each) => !each.startsWith(".")) : []) {
      const keeper = keeperIn(join(states, name));
      if (keeper === 0) continue;
      process.kill(keeper, "SIGTERM");
      await processExit(keeper);
    }
  }
}

/** Instances start in any order. */
export function comparable(seen: readonly Seen[], variables: readonly string[]): readonly string[] {
  return seen
    .map(({ env, at: _, ...others }) =>
      JSON.stringify({ ...others, ...(env !== undefined && { env: variables.map((name) => [name, env[name]]) }) }),
    )
    .sort();
}

const PEERS = join(ROOT, ".cache/peers");

/** The command of a manager from npm, installed when it isn't there; another test may do so at the same time. undefined: it can't be had. */
function peerCommand(name: string, version: string, bin = name): string | undefined {
  const place = join(PEERS, name);
  const command = join(place, "node_modules/.bin", bin);
  if (existsSync(command)) return command;
  mkdirSync(dirname(place), { recursive: true });
  const own = mkdtempSync(`${place}-`);
  try {
    execFileSync(
      "npm",
      ["install", "--prefix", own, "--no-audit", "--no-fund", "--ignore-scripts", `${name}@${version}`],
      {
        stdio: "pipe",
        timeout: 120_000,
      },
    );
    if (!existsSync(command)) renameSync(own, place);
  } catch (error) {
    if (existsSync(command)) return command;
    if (process.env.CI === "true") throw error;
    return undefined;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
  return command;
}

export function pm2Command(): string | undefined {
  return peerCommand("pm2", "7.0.4");
}

export function foremanCommand(): string | undefined {
  return peerCommand("foreman", "3.0.1", "nf");
}

const RUBY = join(PEERS, "ruby");
const RUBY_PACKAGES = ["ruby3.1", "libruby3.1", "ruby-foreman"];

/** The foreman of Debian, with its Ruby, unpacked and not installed. undefined: it can't be had. */
export function debianForeman(): PeerProgram | undefined {
  if (!existsSync(join(RUBY, "usr/bin/foreman"))) {
    const folder = join(PEERS, "ruby-packages");
    mkdirSync(folder, { recursive: true });
    try {
      execFileSync("apt-get", ["download", "-q", ...RUBY_PACKAGES], { cwd: folder, stdio: "pipe", timeout: 120_000 });
      for (const file of readdirSync(folder)) execFileSync("dpkg", ["-x", join(folder, file), RUBY]);
    } catch {
      return undefined;
    }
  }
  const [foreman = "", place = ""] = ["foreman.rb", "rbconfig.rb"].map((name) =>
    dirname(execFileSync("find", [RUBY, "-name", name, "-print", "-quit"], { encoding: "utf8" }).trim()),
  );
  const RUBYLIB = [foreman, join(RUBY, "usr/lib/ruby/3.1.0"), place].join(":");
  return {
    command: [join(RUBY, "usr/bin/ruby3.1"), "--disable-gems", join(foreman, "../bin/foreman")],
    env: { RUBYLIB, LD_LIBRARY_PATH: join(place, "../..") },
  };
}

/** A program of another manager, and the variables that it needs. */
type PeerProgram = { readonly command: readonly string[]; readonly env: NodeJS.ProcessEnv };

/** The command line of the protocol's inspector. */
export function inspectorCommand(): string | undefined {
  return peerCommand("@modelcontextprotocol/inspector", "2.12.0", "mcp-inspector");
}

/** The protocol's conformance tests; later versions need Node 22. */
export function conformanceCommand(): string | undefined {
  return peerCommand("@modelcontextprotocol/conformance", "0.1.13", "conformance");
}
