/** The packed tarball in an empty folder, used as in the README. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { installProduct } from "../../scripts/packed-product.mjs";
import { freePort } from "../support/free-ports.ts";
import { cleanEnvironment, eventually, processExit } from "../support/procman-process.ts";
import { ROOT } from "../support/product.ts";

let home = "";
let folder = "";

type Outcome = { readonly code: number; readonly out: string; readonly err: string };

function run(program: string, args: readonly string[], cwd = folder): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(program, args, { cwd, env: cleanEnvironment() }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

function procman(...args: readonly string[]): Promise<Outcome> {
  return run(join(home, "node_modules/.bin/procman"), args);
}

/** A program in the folder that is ended with its test. */
function background(context: TestContext, program: string, ...args: readonly string[]): ChildProcess {
  const child = spawn(program, args, { cwd: folder, env: cleanEnvironment(), stdio: ["ignore", "pipe", "pipe"] });
  for (const stream of [child.stdout, child.stderr]) stream.resume();
  const exit = once(child, "exit");
  context.after(async () => {
    child.kill();
    await exit;
  });
  return child;
}

function daemonOf(context: TestContext, ...options: readonly string[]): ChildProcess {
  return background(context, join(home, "node_modules/.bin/procman"), "run", ...options);
}

/** Whether the service has written the address of its API. */
function isAnnounced(): boolean {
  const state = join(folder, ".procman");
  return existsSync(state) && readdirSync(state).some((name) => existsSync(join(state, name, "endpoint.json")));
}

before(async () => {
  const { PROCMAN_TEST_PACKAGE = (await installProduct()).PROCMAN_TEST_PACKAGE } = process.env;
  home = join(PROCMAN_TEST_PACKAGE, "../..");
});

test.beforeEach(() => {
  folder = mkdtempSync(join(home, "work-"));
});

test("the package has no dependencies", () => {
  assert.deepEqual(
    readdirSync(join(home, "node_modules")).filter((name) => !name.startsWith(".")),
    ["procman"],
  );
});

test("init, append, validate, run and Ctrl-C work with the installed package", async (context) => {
  assert.equal((await procman("init", "--id", "web", "--cmd", "sleep 1000")).code, 0);
  assert.equal((await procman("append", "--id", "tick", "--cmd", "echo tick-tock; sleep 1000", "--autostart")).code, 0);
  assert.equal((await procman("append", "--id", "job", "--cmd", "true", "--cron", "0 3 * * *")).code, 0);
  const valid = await procman("validate");
  assert.equal(valid.code, 0, valid.err);
  assert.match(valid.out, /procman\.jsonc: valid, 3 processes/);
  assert.match(valid.out, /job: next run .*03:00/);
  const daemon = daemonOf(context as TestContext, "--console");
  let text = "";
  for (const stream of [daemon.stdout, daemon.stderr])
    stream?.on("data", (data) => {
      text += String(data);
    });
  await eventually(() => (/tick-tock/.test(text) ? true : undefined));
  await eventually(() => isAnnounced() || undefined);
  const status = await procman("status");
  assert.match(status.out, /web\s+running\s+\d+/);
  assert.match(status.out, /job\s+created.*next run/);
  const web = Number(/web\s+running\s+(\d+)/.exec(status.out)?.[1]);
  daemon.kill("SIGINT");
  assert.deepEqual(await once(daemon, "exit"), [0, null]);
  await processExit(web);
  assert.match(text, /everything is stopped/);
  assert.equal((await procman("status")).code, 69);
});

test("remove deletes a process and keeps every comment", async () => {
  writeFileSync(
    join(folder, "procman.jsonc"),
    '// mine\n{\n  "processes": [\n    // first\n    { "id": "a", "cmd": "true", "autostart": true },\n    // second\n    { "id": "b", "cmd": "true", "autostart": true } // tail\n  ]\n}\n',
  );
  assert.equal((await procman("remove", "--id", "b")).code, 0);
  assert.equal(
    readFileSync(join(folder, "procman.jsonc"), "utf8"),
    '// mine\n{\n  "processes": [\n    // first\n    { "id": "a", "cmd": "true", "autostart": true }\n  ]\n}\n',
  );
  assert.equal((await procman("remove", "--id", "c")).code, 1);
});

test("4 terminate ends procman and all processes", async (context) => {
  await procman("init", "--id", "web", "--cmd", "sleep 1000");
  const daemon = daemonOf(context as TestContext);
  await eventually(() => (isAnnounced() ? true : undefined));
  const exit = once(daemon, "exit");
  const ended = await procman("terminate");
  assert.equal(ended.code, 0, ended.err);
  assert.deepEqual(await exit, [0, null]);
});

test("7 mistakes are reported with place and remedy: misspelled key, bad cron, both start commands; exit code 78", async () => {
  writeFileSync(
    join(folder, "procman.json"),
    '{\n  "processes": [\n    { "id": "web", "cmdd": "x", "autostart": true },\n    { "id": "job", "cmd": "y", "cron": "99 * * * *" },\n    { "id": "two", "cmd": "y", "worker": "w.js", "autostart": true }\n  ]\n}\n',
  );
  for (const command of ["validate", "run"]) {
    const { code, err } = await procman(command);
    assert.equal(code, 78);
    for (const expected of [
      /procman\.json:3:\d+/,
      /Did you mean "cmd"/,
      /procman\.json:4:\d+/,
      /99/,
      /procman\.json:5:\d+/,
      /\^/,
    ])
      assert.match(err, expected);
  }
});

test("usage errors (unknown command, unknown option, no configuration) say what to do", async () => {
  const cases: readonly (readonly [readonly string[], number, RegExp])[] = [
    [["stauts"], 64, /Did you mean "status"/],
    [
      ["validate", "--jsn"],
      64,
      /^procman: Cannot run "procman validate": unknown option '--jsn' \(did you mean --json\?\); see "procman help validate"\n$/,
    ],
    [
      ["status", "--config"],
      64,
      /^procman: Cannot run "procman status": option .*--config.* argument missing; see "procman help status"\n$/,
    ],
    [["why", "web", "api"], 64, /^procman: Cannot run "procman why": too many arguments.*; see "procman help why"\n$/],
    [
      ["stop"],
      64,
      /^procman: Cannot run "procman stop": missing required argument 'id': the id of a process, or "all"; see "procman help stop"\n$/,
    ],
    [
      ["stop", "web", "--timeout", "soon"],
      64,
      /--timeout <seconds>.*Allowed: a number of seconds, at most 3600; see "procman help stop"\n$/,
    ],
    [["status", "web"], 78, /procman init/],
    [["run", "--confg", "x"], 64, /--confg/],
    [["validate"], 78, /procman init/],
    [["run"], 78, /procman init/],
    [["run", "--config", "other.json"], 78, /other\.json/],
    [["status"], 78, /procman init/],
    [["init"], 64, /--id/],
  ];
  for (const [args, expected, message] of cases) {
    const { code, err } = await procman(...args);
    assert.equal(code, expected, args.join(" "));
    assert.match(err, message);
    assert.ok(!/\n\s+at /.test(err), `a stack trace: ${err}`);
  }
});

test("help, version and schema print to standard output", async () => {
  const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { readonly version: string };
  assert.equal((await procman("version")).out, `${version}\n`);
  const { out } = await procman("--help");
  for (const [, command] of out.matchAll(/^ {2}([a-z]+) {2}/gm)) {
    if (command === undefined || command === "version" || command === "help") continue;
    const help = await procman("help", command);
    assert.equal(help.code, 0, command);
    assert.match(help.out, new RegExp(`Usage: procman ${command}`));
  }
  assert.equal((JSON.parse((await procman("schema")).out) as { readonly type: string }).type, "object");
});

test("the health check of docs/guide/containers.md fails when the process or procman doesn't run", async (context) => {
  const page = readFileSync(join(ROOT, "docs/guide/containers.md"), "utf8");
  const [, command = ""] = /^ +HEALTHCHECK CMD (.*)$/m.exec(page) ?? [];
  const check = async (): Promise<number> =>
    (await run("sh", ["-c", command.replace(/^procman/, join(home, "node_modules/.bin/procman"))])).code;
  await procman("init", "--id", "web", "--cmd", "sleep 1000");
  assert.equal(await check(), 1);
  const exit = once(daemonOf(context as TestContext), "exit");
  await eventually(() => (isAnnounced() ? true : undefined));
  assert.equal(await check(), 0);
  assert.equal((await procman("stop", "web")).code, 0);
  assert.equal(await check(), 1);
  await procman("terminate");
  await exit;
});

test("the library validates configurations, runs processes, and its types are valid", async () => {
  const script = `import { ConfigurationError, Procman, validateConfiguration } from "procman";
const c = validateConfiguration({ processes: [{ id: "a", cmd: "b", autostart: true }] });
console.log(c.terminateTimeout, validateConfiguration(c).processes[0].stopSignal);
try { validateConfiguration("{"); } catch (error) { console.log(error instanceof ConfigurationError, error.problems[0].line); }
const procman = await Procman.run({ name: "used", processes: [{ id: "web", cmd: "sleep 1000", autostart: true }] }, { detached: false });
console.log((await procman.stop("web")).status);
await procman.terminate();`;
  writeFileSync(join(folder, "use.mjs"), script);
  const used = await run(process.execPath, ["use.mjs"]);
  assert.equal(used.out, "30 SIGTERM\ntrue 1\nstopped\n", used.err);
  writeFileSync(join(folder, "use.mts"), TYPED);
  writeFileSync(
    join(folder, "tsconfig.json"),
    '{ "compilerOptions": { "noEmit": true, "strict": true, "exactOptionalPropertyTypes": true, "module": "nodenext", "target": "es2023", "lib": ["es2023", "dom", "dom.asynciterable"], "types": [] } }',
  );
  const checked = await run(process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "."]);
  assert.equal(checked.code, 0, checked.out);
});

test("an error is an instance of ProcmanError of each entry; the client has nothing of Node in it", async () => {
  writeFileSync(
    join(folder, "same.mjs"),
    `import * as main from "procman"; import * as client from "procman/client";
const error = await client.connect({ url: "http://127.0.0.1:1", token: "x" }).processes().catch((error) => error);
console.log(error instanceof main.ProcmanError, main.ProcmanError === client.ProcmanError, error.code);`,
  );
  assert.equal((await run(process.execPath, ["same.mjs"])).out, "true true service-down\n");
  const read = new Set<string>();
  const modulesOf = (name: string): void => {
    if (read.has(name)) return;
    read.add(name);
    // Comments begin with a space.
    const text = readFileSync(join(home, "node_modules/procman/dist", name), "utf8");
    for (const [, module = ""] of text.matchAll(/^(?:import|export)\b[^"\n]*"([^"]+)";$/gm)) {
      assert.match(module, /^\.\//, name);
      modulesOf(module.slice("./".length));
    }
  };
  modulesOf("client.js");
  assert.ok(read.size > 1, "it shares chunks with the library");
});

/** Repeats the request until there is an answer. */
async function answers(port: number): Promise<string> {
  for (const end = performance.now() + 20_000; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
    try {
      return await (await fetch(`http://127.0.0.1:${port}`)).text();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}

test("procman/cluster listens on the shared socket, by import and by require, and on a port where there is no shared socket", async (context) => {
  const server = "listen(createServer((request, response) => response.end(process.argv[1])), Number(process.argv[2]))";
  writeFileSync(
    join(folder, "a.mjs"),
    `import { createServer } from "node:http"; import { listen } from "procman/cluster"; ${server};`,
  );
  writeFileSync(
    join(folder, "b.cjs"),
    `const { createServer } = require("node:http"); const { listen } = require("procman/cluster"); ${server};`,
  );
  writeFileSync(
    join(folder, "c.mjs"),
    'import { createServer } from "node:net"; import { listen } from "procman/cluster"; listen(createServer());',
  );
  const ports = await Promise.all([freePort(), freePort(), freePort()]);
  const process = (id: string, cmd: string, port: number): object => ({
    id,
    cmd,
    autostart: true,
    cluster: { instances: 1, mode: "share", commonPort: port },
  });
  const processes = [process("a", "node a.mjs 1", ports[0]), process("b", "cd . && exec node b.cjs 1", ports[1])];
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ processes }));
  const daemon = daemonOf(context as TestContext);
  background(context as TestContext, "node", "a.mjs", String(ports[2]));
  for (const [index, file] of ["a.mjs", "b.cjs", "a.mjs"].entries())
    assert.equal(await answers(ports[index] ?? 0), join(folder, file));
  const nothing = await run("node", ["c.mjs"]);
  assert.match(
    nothing.err,
    /Error: Cannot listen: no socket was passed to this process, and no port given; give one, or set "mode": "share"/,
  );
  const exit = once(daemon, "exit");
  assert.equal((await procman("terminate")).code, 0);
  await exit;
  writeFileSync(
    join(folder, "use.mts"),
    'import { createServer, type Server } from "node:https";\nimport { listen } from "procman/cluster";\nexport const server: Server = listen(createServer(), 1);\n// @ts-expect-error: no server\nlisten(1);\n',
  );
  writeFileSync(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        noEmit: true,
        strict: true,
        module: "nodenext",
        types: ["node"],
        typeRoots: [join(ROOT, "node_modules/@types")],
      },
    }),
  );
  const checked = await run(globalThis.process.execPath, [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", "."]);
  assert.equal(checked.code, 0, checked.out);
});

/** Compiled against the package, not run. */
const TYPED = `import { type CompleteConfiguration, type LogEntry, Procman, ProcmanError, defineConfig, validateConfiguration } from "procman";
import type { EventRecord, PluginRecord, Scaling, StateRecord } from "procman/client";
export type Told = EventRecord["type"] | PluginRecord["status"] | StateRecord["status"] | keyof Scaling;
"service.state" satisfies Told;
// @ts-expect-error: no such value
"service.stat" satisfies Told;
const config: CompleteConfiguration = validateConfiguration({});
export const first: string | undefined = config.processes[0]?.id;
void Procman.run(config);
const written = defineConfig({ processes: [{ id: "web", cmd: "node server.js", restart: "always", cluster: { instances: "max" } }] });
// @ts-expect-error: no such field
defineConfig({ processes: [{ id: "web", comand: "x" }] });
const mine: LogEntry[] = [];
const procman = await Procman.run(written, { onLine: (entry) => mine.push(entry) > 0, console: true });
procman.on("process.state", ({ process }) => process.status satisfies string).on("end", ({ type }) => type satisfies "end");
// @ts-expect-error: no such event
procman.on("process.stat", () => undefined);
for await (const item of procman.follow({ processes: ["web"], severity: "warn" })) if (item.type === "gap") item.bytes satisfies number;
try {
  await procman.restart("web", { waitSeconds: 5 });
} catch (error) {
  if (error instanceof ProcmanError && error.code === "wait-timeout") procman.close();
}
`;
