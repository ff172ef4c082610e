/** A fresh folder for one block of a page: a small project, the packed product on the PATH, nothing of the user. */
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { TestContext } from "node:test";
import { installProduct } from "../../scripts/packed-product.mjs";
import { keeperOf } from "../../src/client/connection/endpoint-file.ts";
import { ProcmanError } from "../../src/core/base/errors.ts";
import { isFree } from "../support/free-ports.ts";
import { cleanEnvironment, isAlive, processExit } from "../support/procman-process.ts";
import { ROOT } from "../support/product.ts";
import { ShellSession } from "./shell-session.ts";

const PROJECT = join(import.meta.dirname, "project");

/** Ports in pages and in the project; in a test others take their place, which are free. */
const PORTS = [
  3000, 3001, 3002, 3003, 3004, 3005, 3006, 4000, 4001, 4002, 4318, 6601, 7000, 8000, 8080, 8090, 8091, 9000, 20500,
];
/** Below those that procman chooses for its API, and that the kernel gives to clients. */
const FREE_PORTS = { from: 10_100, count: 4_800 };

/** Folders of a host that a page names: in a test they are below the folder. */
const HOST_FOLDERS = ["/srv/", "/run/secrets/", "/tmp/", "/etc/prometheus/"];
const HOST_FOLDER = new RegExp(`(?<![\\w.}])(${HOST_FOLDERS.join("|")})`, "g");

/** Hosts of others. */
const FOREIGN_HOST = /\b(?:[\w-]+\.)*example\.(?:com|org)\b/g;

/** Where the product is installed, as by `npm install` in a project. */
async function homeOfProduct(): Promise<string> {
  const { PROCMAN_TEST_PACKAGE = (await installProduct()).PROCMAN_TEST_PACKAGE } = process.env;
  return join(PROCMAN_TEST_PACKAGE, "../..");
}

const home = await homeOfProduct();
const tarball = join(home, readdirSync(home).find((name) => name.endsWith(".tgz")) ?? "");

let nextPort = (process.pid * 131) % FREE_PORTS.count;

/** A row of free ports, one for each of `PORTS`. */
async function freeRow(): Promise<number> {
  for (;;) {
    nextPort = (nextPort + PORTS.length) % FREE_PORTS.count;
    const first = FREE_PORTS.from + nextPort;
    const free = await Promise.all(PORTS.map((_, index) => isFree(first + index)));
    if (free.every(Boolean)) return first;
  }
}

export class PageRig {
  readonly folder: string;
  readonly shell: ShellSession;
  readonly #firstPort: number;

  private constructor(folder: string, firstPort: number) {
    this.folder = folder;
    this.#firstPort = firstPort;
    // Some examples run as another user.
    chmodSync(folder, 0o755);
    cpSync(PROJECT, folder, { recursive: true });
    install(folder);
    for (const name of HOST_FOLDERS) mkdirSync(join(folder, "host", name), { recursive: true });
    this.shell = new ShellSession(folder, environmentIn(folder));
  }

  /** Its processes end, and its folder is removed, with the test. */
  static async create(context: TestContext, example?: string): Promise<PageRig> {
    const folder = mkdtempSync(join(home, "page-"));
    const rig = new PageRig(folder, await freeRow());
    context.after(() => rig.#remove());
    if (example !== undefined) cpSync(join(ROOT, example), folder, { recursive: true });
    rig.#adaptFiles();
    return rig;
  }

  /** The text of a page, for this folder. */
  adapt(text: string): string {
    return text
      .replaceAll(HOST_FOLDER, (name) => `${this.folder}/host${name}`)
      .replaceAll("/usr/bin/procman", join(this.folder, "node_modules/.bin/procman"))
      .replaceAll(FOREIGN_HOST, "127.0.0.1")
      .replaceAll(/\b\d{4,5}\b/g, (number) => {
        const index = PORTS.indexOf(Number(number));
        return index < 0 ? number : String(this.#firstPort + index);
      })
      .replaceAll(/\bnpm (install|i)( -\S+)* procman(@\S+)?/g, `npm $1$2 --offline --no-audit --no-fund ${tarball}`);
  }

  write(name: string, text: string): void {
    mkdirSync(dirname(join(this.folder, name)), { recursive: true });
    writeFileSync(join(this.folder, name), this.adapt(text));
  }

  /** Runs lines that must succeed. */
  async must(lines: string): Promise<string> {
    let all = "";
    for (const line of lines.split("\n").filter((each) => each.trim() !== "")) {
      const { code, out } = await this.shell.run(this.adapt(line));
      if (code !== 0) throw new Error(`"${line}" ended with ${code}:\n${out}`);
      all += out;
    }
    return all;
  }

  #adaptFiles(): void {
    for (const name of readdirSync(this.folder, { recursive: true, encoding: "utf8" })) {
      const file = join(this.folder, name);
      if (!name.startsWith("node_modules/") && statSync(file).isFile())
        writeFileSync(file, this.adapt(readFileSync(file, "utf8")));
    }
  }

  async #remove(): Promise<void> {
    await this.shell.end();
    for (const state of statesBelow(this.folder)) await endKeeper(state);
    for (const name of readdirSync(dirname(this.folder)).filter((each) =>
      join(dirname(this.folder), each).startsWith(this.folder),
    ))
      rmSync(join(dirname(this.folder), name), { recursive: true, force: true });
  }
}

/** As by `npm install`. */
function install(folder: string): void {
  mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
  symlinkSync(join(home, "node_modules/procman"), join(folder, "node_modules/procman"));
  symlinkSync("../procman/dist/procman.cjs", join(folder, "node_modules/.bin/procman"));
}

/** State folders are those with a lock. */
function statesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => /(^|\/)lock\.\d+$/.test(name))
    .map((name) => dirname(join(folder, name)));
}

/** Some examples kill the keeper: its replacement, which may still be starting, has the processes. */
async function endKeeper(state: string): Promise<void> {
  if (!existsSync(state)) return;
  const { pid: keeper } = await keeperOf(state).catch((error: unknown) => {
    if (error instanceof ProcmanError && error.code === "no-daemon") return { pid: 0 };
    throw error;
  });
  if (keeper === 0) return;
  process.kill(keeper, "SIGTERM");
  const second = setTimeout(() => isAlive(keeper) && process.kill(keeper, "SIGTERM"), 3_000);
  await processExit(keeper);
  clearTimeout(second);
}

function environmentIn(folder: string): NodeJS.ProcessEnv {
  // Commands that would look at all processes of the host look only at those of this folder.
  const own = join(folder, "bin");
  mkdirSync(own, { recursive: true });
  for (const name of ["pgrep", "pkill"]) copyFileSync(join(import.meta.dirname, "pgrep.sh"), join(own, name));
  // The configuration that npm has here, and that it warns of.
  const npm = Object.keys(process.env).filter((name) => /^npm_/i.test(name));
  return cleanEnvironment({
    ...Object.fromEntries(npm.map((name) => [name, undefined])),
    HOME: folder,
    PATH: `${own}:${join(folder, "node_modules/.bin")}:${process.env.PATH ?? ""}`,
    CI_TOKEN: "token of CI",
    SLACK_WEBHOOK: "http://127.0.0.1:9/",
    npm_config_prefix: join(folder, "global"),
    npm_config_update_notifier: "false",
    NO_COLOR: "1",
    TZ: "UTC",
  });
}
