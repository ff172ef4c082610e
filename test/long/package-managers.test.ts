/** The packed procman, installed and updated by npm, pnpm and Yarn, globally and in a project. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { pack } from "../../scripts/packed-product.mjs";
import type { Endpoint, ProcessRecord } from "../../src/core/contract/records.ts";
import { keeperIn } from "../support/cli.ts";
import { commandsOf, ManagedProject, PACKAGE_MANAGERS, type PackageManager } from "../support/package-managers.ts";
import { eventually, isAlive, processExit } from "../support/procman-process.ts";
import { PACKAGE, ROOT } from "../support/product.ts";
import { skip } from "../support/skip.ts";
import { version } from "../support/versions.ts";

const NEXT = "1.99.0";

/** Of this version, and of a later one. */
const tarballs = { present: "", next: "" };

const CONFIGURATION = {
  name: "managed",
  processes: [
    { id: "web", cmd: "echo hello; exec sleep 1000", autostart: true },
    { id: "job", worker: "job.mjs", autostart: true },
  ],
};

/** The package, as ES module and as CommonJS module. */
const ESM = `import { Procman, validateConfiguration } from "procman";
import { connect } from "procman/client";
import { listen } from "procman/cluster";
import { log } from "procman/telemetry";
console.log([Procman, validateConfiguration, connect, listen, log].map((each) => typeof each).join(" "));
`;
const CJS = `const { listen } = require("procman/cluster");
const { log } = require("procman/telemetry");
console.log(typeof listen, typeof log);
`;

const TYPED = `import { defineConfig, Procman } from "procman";
import { connect } from "procman/client";
import { definePlugin } from "procman/plugin";
export const used = [Procman, connect, definePlugin];
export default defineConfig({ processes: [{ id: "web", cmd: "node server.js" }] });
// @ts-expect-error: no such field
defineConfig({ processes: [{ id: "web", comand: "x" }] });
`;

before(async () => {
  const home = mkdtempSync(join(tmpdir(), "procman-tarballs-"));
  process.once("exit", () => rmSync(home, { recursive: true, force: true }));
  tarballs.present = await pack(PACKAGE, home);
  const later = join(version(home, NEXT).folder, "..");
  const about = JSON.parse(readFileSync(join(later, "package.json"), "utf8")) as object;
  writeFileSync(join(later, "package.json"), JSON.stringify({ ...about, version: NEXT }));
  tarballs.next = await pack(later, home);
});

class Rig {
  readonly project: ManagedProject;
  readonly state: string;

  constructor(context: TestContext, manager: PackageManager) {
    const home = realpathSync(mkdtempSync(join(tmpdir(), "procman-managed-")));
    this.project = new ManagedProject(home, manager);
    this.state = join(this.project.folder, ".procman/managed");
    this.project.write("procman.json", JSON.stringify(CONFIGURATION));
    this.project.write("job.mjs", `${ESM}setInterval(() => undefined, 1_000);\n`);
    context.after(async () => {
      const keeper = keeperIn(this.state);
      if (keeper > 0) process.kill(keeper, "SIGTERM");
      await processExit(keeper);
      rmSync(home, { recursive: true, force: true, maxRetries: 10 });
    });
  }

  async must(...args: readonly string[]): Promise<string> {
    const { code, out, err } = await this.project.procman(...args);
    assert.equal(code, 0, `procman ${args.join(" ")}: ${out}${err}`);
    return out;
  }

  /** Of both processes, as `procman status` has them. */
  async pids(): Promise<readonly number[]> {
    const records = JSON.parse(await this.must("status", "--json")) as readonly ProcessRecord[];
    return records.map(({ pid, status }) => (status === "running" ? (pid ?? 0) : 0));
  }

  get endpoint(): Endpoint {
    return JSON.parse(readFileSync(join(this.state, "endpoint.json"), "utf8")) as Endpoint;
  }

  /** Kills a part, and waits for its replacement. */
  async kill(part: "keeper" | "service"): Promise<void> {
    const { pid, keeper } = this.endpoint;
    const victim = part === "keeper" ? keeper : pid;
    process.kill(victim, "SIGKILL");
    await processExit(victim);
    await eventually(() => {
      const { endpoint } = this;
      return (endpoint[part === "keeper" ? "keeper" : "pid"] !== victim && isAlive(endpoint.pid)) || undefined;
    });
  }

  /** What `procman install` would write for the machine's init system to run. */
  async launcher(): Promise<string> {
    const plan = await this.must("install", "--system", "--init", "openrc", "--dry-run");
    const [, text] = /^(#!\/bin\/sh\n[\s\S]*?\n)\n# \/etc\/init\.d/m.exec(plan) ?? [];
    assert.ok(text, plan);
    this.project.write("launcher.sh", text);
    return text;
  }
}

for (const manager of PACKAGE_MANAGERS)
  test(`${manager.name}: procman runs, survives kills, is updated under its processes, and leaves nothing`, async (context) => {
    if (commandsOf(manager) === undefined) return skip(context, `npm does not give ${manager.tool}`);
    const rig = new Rig(context, manager);
    const { project } = rig;
    await project.install(tarballs.present);
    if (manager.node === undefined) rig.project.write("job.mjs", "setInterval(() => undefined, 1_000);\n");
    await rig.must("run", "--detach");
    const pids = await rig.pids();
    assert.ok(pids.length === 2 && pids.every((pid) => pid > 1), String(pids));
    await checkOutput(rig, manager);
    await rig.kill("keeper");
    assert.deepEqual(await rig.pids(), pids);
    await checkUpdate(rig);
    assert.deepEqual(await rig.pids(), pids);
    await checkImports(rig, manager);
    await checkLauncher(rig, pids);
    await rig.must("terminate");
    await project.uninstall();
    checkNothingLeft(rig);
  });

async function checkOutput(rig: Rig, { node }: PackageManager): Promise<void> {
  const log = await rig.must("logs");
  assert.match(log, /web +\| hello\n/);
  if (node !== undefined) assert.match(log, /job +\| function function function function function\n/);
  assert.match(await rig.must("why", "web"), /web runs/);
}

/** The old version may be gone before `procman upgrade`: a killed service must come back nevertheless. */
async function checkUpdate(rig: Rig): Promise<void> {
  const before = await rig.must("version");
  await rig.project.install(tarballs.next);
  assert.equal(await rig.must("version"), `${NEXT}\n`);
  await rig.kill("service");
  await rig.kill("keeper");
  const upgraded = await rig.must("upgrade");
  assert.match(upgraded, new RegExp(`^service .*→ ${NEXT.replaceAll(".", "\\.")} +replaced in`, "m"), `from ${before}`);
  await eventually(() => rig.endpoint.version === NEXT || undefined);
}

async function checkImports({ project }: Rig, { node, types = false }: PackageManager): Promise<void> {
  if (node === undefined) return;
  project.write("used.mjs", ESM);
  project.write("used.cjs", CJS);
  assert.equal(await project.must([...node, "used.mjs"]), "function function function function function\n");
  assert.equal(await project.must([...node, "used.cjs"]), "function function\n");
  if (!types) return;
  project.write("used.mts", TYPED);
  for (const [module, moduleResolution] of [
    ["nodenext", "nodenext"],
    ["esnext", "bundler"],
  ]) {
    const compilerOptions = {
      noEmit: true,
      strict: true,
      target: "es2023",
      lib: ["es2023", "dom"],
      types: [],
      module,
      moduleResolution,
    };
    project.write("tsconfig.json", JSON.stringify({ compilerOptions, files: ["used.mts"] }));
    await project.must([process.execPath, join(ROOT, "node_modules/typescript/bin/tsc"), "--project", "."]);
  }
}

/** What the init system runs works with the version of its installation, and with the next one. */
async function checkLauncher(rig: Rig, pids: readonly number[]): Promise<void> {
  const text = await rig.launcher();
  assert.doesNotMatch(text, /^export PATH=.*xfs-/m);
  await rig.project.install(tarballs.present);
  const status = await rig.project.must(["sh", "launcher.sh", "status", "--json"]);
  assert.deepEqual(
    (JSON.parse(status) as readonly ProcessRecord[]).map(({ pid }) => pid),
    pids,
  );
}

/** Beside what the user has written, the state folder, and the store in which pnpm keeps each package for other projects. */
function checkNothingLeft({ project: { folder, global } }: Rig): void {
  for (const place of [folder, global]) {
    const left = (readdirSync(place, { recursive: true, encoding: "utf8" }) as string[]).filter(
      (path) =>
        /procman/.test(path) && !/^(?:\.procman\b|procman\.json$|store\/)/.test(path) && existsSync(join(place, path)),
    );
    assert.deepEqual(left, [], place);
  }
}
