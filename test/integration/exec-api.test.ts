/** Commands with the surroundings of a process by the API: docs/reference/api.md. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { type RequestOptions, request } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type Client, connect } from "../../src/client/index.ts";
import { bytesOf, type ExecItem } from "../../src/core/contract/execution.ts";
import { type Claims, payloadOf } from "../../src/core/contract/token-claims.ts";
import { signJwt } from "../../src/core/os/jwt.ts";
import { storedSecret } from "../../src/core/os/secret.ts";
import { procman, SLEEPER } from "../support/cli.ts";
import { eventually, folderWith, isAlive, Procman, processExit } from "../support/procman-process.ts";

type Rig = {
  readonly folder: string;
  readonly running: Procman;
  readonly client: (scope?: string) => Promise<Client>;
  readonly address: () => string;
};

/** A procman whose API executes commands. */
async function rig(context: TestContext, api: object = { exec: true }, more: object = {}): Promise<Rig> {
  const web = { id: "web", ...SLEEPER, env: { WHO: "web" }, terminateTimeout: 1, ...more };
  const folder = folderWith(context, { name: "test", processes: [web], api });
  const running = new Procman(folder);
  await running.line(/started \(pid/);
  const address = (): string => {
    const { port } = JSON.parse(readFileSync(join(folder, ".procman/test/endpoint.json"), "utf8")) as {
      readonly port: number;
    };
    return `http://127.0.0.1:${port}`;
  };
  const client = async (scope = "admin"): Promise<Client> => {
    const { out } = await procman(folder, ["token", "--consumer", "agent", "--scope", scope]);
    return connect({ url: address(), token: out.trim() });
  };
  // With its endpoint.
  await procman(folder, ["status"]);
  return { folder, running, client, address };
}

const shell = (line: string) => ({ command: ["sh", "-c", line] });
const rejectsWith = (code: string, message: RegExp) => (error: { readonly code: string; readonly message: string }) =>
  error.code === code && message.test(error.message);

test("the API executes commands only with the scope admin, and only if api.exec is true, which a reload changes", async (context) => {
  const { folder, client } = await rig(context, {});
  const admin = await client();
  const refusal = rejectsWith(
    "exec-refused",
    /"api\.exec" is not true in the configuration; set it, and run "procman reload"/,
  );
  await assert.rejects(admin.exec("web", shell("true")), refusal);
  const launch = { command: ["true"], pid: process.pid, startTime: "1", niceness: 0 };
  await assert.rejects(admin.launch("web", launch), refusal);
  const limited = await client("read,control");
  await assert.rejects(
    limited.exec("web", shell("true")),
    rejectsWith(
      "scope-missing",
      /lacks the scope "admin"; it has "read", "control"; "procman token --consumer NAME --scope admin" creates one/,
    ),
  );
  const file = join(folder, "procman.json");
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), api: { exec: true } }));
  assert.match((await procman(folder, ["plan"])).out, /api\.exec/);
  assert.equal((await procman(folder, ["reload"])).code, 0);
  assert.deepEqual((await admin.exec("web", shell("echo $WHO"))).stdout, "web\n");
  await assert.rejects(limited.exec("web", shell("true")), rejectsWith("scope-missing", /./));
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), api: { exec: false } }));
  assert.equal((await procman(folder, ["reload"])).code, 0);
  await assert.rejects(admin.exec("web", shell("true")), refusal);
  const { out } = await procman(folder, ["logs", "--category", "api", "-n", "100"]);
  assert.match(out, /exec of "sh" with 2 arguments for "agent"/);
  assert.match(out, /exec of "true" in "web" for "agent": refused: .*api\.exec/);
  assert.match(out, /POST \/processes\/web\/exec for "agent": refused: .*lacks the scope/);
  assert.doesNotMatch(out, /echo/);
});

/** Asks how a command is started; resolves with the status of the answer. */
function askLaunch(
  where: RequestOptions,
  claims: Pick<Claims, "consumer" | "by">,
  secret: Uint8Array,
): Promise<number> {
  const token = signJwt(payloadOf({ audience: "test", scopes: ["admin"], ...claims }), secret);
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const asking = request({ ...where, method: "POST", path: "/processes/web/launch", headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    asking.once("error", reject);
    asking.end(JSON.stringify({ command: ["true"], pid: process.pid, startTime: "1", niceness: 0 }));
  });
}

test("without api.exec commands and agents of the owner may execute commands over the Unix socket, and pages of the dashboard may not", async (context) => {
  const { running, address } = await rig(context, {});
  const secret = storedSecret(running.stateDir) ?? assert.fail("there is no secret");
  const socket = { socketPath: join(running.stateDir, "run/api.sock") };
  const [owner, agent, page] = [
    { consumer: "cli" },
    { consumer: "mcp (claude)", by: "mcp" },
    { consumer: "dashboard", by: "cli" },
  ];
  const asked = [owner, agent, page].map((claims) => askLaunch(socket, claims, secret));
  assert.deepEqual(await Promise.all(asked), [200, 200, 403]);
  const { hostname, port } = new URL(address());
  assert.deepEqual(await askLaunch({ hostname, port }, agent, secret), 403);
});

test("the answer has exit code or signal, outputs, duration; a missing program is 127, a missing process 404", async (context) => {
  const { client, folder } = await rig(context);
  const admin = await client();
  const { durationMs, ...record } = await admin.exec("web", { ...shell("cat; echo hm >&2; exit 3"), stdin: "given" });
  assert.ok(durationMs >= 0);
  assert.deepEqual(record, {
    process: "web",
    code: 3,
    stdout: "given",
    stderr: "hm\n",
    stdoutCut: false,
    stderrCut: false,
  });
  assert.equal((await admin.exec("web", shell("kill -9 $$"))).signal, "SIGKILL");
  const missing = await admin.exec("web", { command: ["nosuch"] });
  assert.deepEqual(
    [missing.code, missing.stderr],
    [127, 'procman: there is no program "nosuch" in the PATH of the process\n'],
  );
  await assert.rejects(admin.exec("nobody", shell("true")), rejectsWith("process-unknown", /nobody/));
  await assert.rejects(admin.exec("all", shell("true")), rejectsWith("input-invalid", /not one process/));
  await assert.rejects(admin.exec("web", { command: [] }), rejectsWith("input-invalid", /body\.command/));
  await assert.rejects(admin.exec("web", { command: ["a\0b"] }), rejectsWith("input-invalid", /body\.command/));
  // The programs of the owner, by the Unix socket, need no api.exec: see the other test. What is left behind is ended.
  const left = await admin.exec("web", shell("sleep 1000 >/dev/null 2>&1 & echo $!"));
  await processExit(Number(left.stdout));
  assert.equal((await procman(folder, ["status", "web"])).code, 0);
});

/** The next item of this type. */
async function next(items: AsyncIterator<ExecItem>, type: ExecItem["type"]): Promise<ExecItem> {
  for (;;) {
    const { value, done } = await items.next();
    if (done === true) throw new Error(`the stream has ended before ${type}`);
    if (value.type === type) return value;
  }
}

const textOf = (item: ExecItem): string => (item.type === "stdout" ? Buffer.from(bytesOf(item)).toString() : "");

test("a stream has the output as it comes, takes input in order, and says what a session gets after its end", async (context) => {
  const { client } = await rig(context);
  const admin = await client();
  const items = admin.execute(
    "web",
    shell("while read line; do echo got $line; done; exit 6"),
    new AbortController().signal,
  );
  const started = await next(items, "started");
  const session = started.type === "started" ? started.session : "";
  const say = (text: string): Promise<void> => admin.write(session, { data: Buffer.from(text).toString("base64") });
  await say("one\n");
  assert.equal(textOf(await next(items, "stdout")), "got one\n");
  await say("two\n");
  assert.equal(textOf(await next(items, "stdout")), "got two\n");
  await admin.write(session, { end: true });
  const end = await next(items, "exited");
  assert.deepEqual(end.type === "exited" && end.code, 6);
  await eventually(() => items.next().then(({ done }) => done));
  await assert.rejects(say("three\n"), rejectsWith("exec-unknown", /it isn't running/));
});

test("a slow reader holds the command up, and the service keeps no more than its pipes; input that isn't taken waits", async (context) => {
  const { client, running } = await rig(context);
  const admin = await client();
  const stop = new AbortController();
  const items = admin.execute("web", shell("echo $$; exec yes"), stop.signal);
  await next(items, "started");
  const pid = Number(textOf(await next(items, "stdout")).split("\n")[0]);
  const service = running.helper("service");
  const memory = (): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${service}/status`, "utf8"))?.[1]);
  const before = memory();
  const written = (): string => readFileSync(`/proc/${pid}/io`, "utf8").match(/wchar: (\d+)/)?.[1] ?? "";
  // It stands still when all pipes are full.
  let last = "";
  await eventually(() => {
    const now = written();
    const isStill = now !== "" && now === last;
    last = now;
    return isStill || undefined;
  });
  assert.ok(memory() - before < 32_768, `${before} ${memory()}`);
  const blocked = admin.execute("web", shell("sleep 1000"), stop.signal);
  const started = await next(blocked, "started");
  const session = started.type === "started" ? started.session : "";
  const data = Buffer.alloc(700_000).toString("base64");
  // Either may arrive first.
  const writes = [1, 2].map(() =>
    admin.write(session, { data }).then(
      () => "taken",
      (error: { readonly code: string }) => error.code,
    ),
  );
  assert.equal(await Promise.race(writes), "too-many-requests");
  stop.abort();
  await processExit(pid);
  assert.deepEqual((await Promise.all(writes)).toSorted(), ["exec-unknown", "too-many-requests"]);
});

test("a client that goes away ends its command, with what that has started: SIGHUP, SIGTERM, then SIGKILL", async (context) => {
  const { client, folder } = await rig(context);
  const admin = await client();
  writeFileSync(
    join(folder, "stubborn.cjs"),
    `const fs = require("node:fs");
     for (const name of ["SIGHUP", "SIGTERM"]) process.on(name, () => fs.appendFileSync("got", name + " "));
     console.log(process.pid); setInterval(() => {}, 1000);`,
  );
  const stop = new AbortController();
  const items = admin.execute(
    "web",
    shell("env -i $(which node) stubborn.cjs & env -i sleep 1001 & echo $!; wait"),
    stop.signal,
  );
  const pids: number[] = [];
  while (pids.length < 2)
    pids.push(
      ...textOf(await next(items, "stdout"))
        .trim()
        .split("\n")
        .map(Number),
    );
  stop.abort();
  for (const pid of pids) await processExit(pid);
  assert.equal(readFileSync(join(folder, "got"), "utf8"), "SIGHUP SIGTERM ");
  // Also without a stream.
  const aborter = new AbortController();
  const answer = admin.exec("web", shell("echo $$ > pid; exec sleep 1000"), aborter.signal);
  const pid = await eventually(() => {
    try {
      return Number(readFileSync(join(folder, "pid"), "utf8")) || undefined;
    } catch {
      return undefined;
    }
  });
  aborter.abort();
  await assert.rejects(answer);
  await processExit(pid);
});

test("a kill of the logger leaves a command of the API alone; a kill of the service or the keeper ends it", async (context) => {
  const { client, running } = await rig(context);
  const begin = async (): Promise<{ readonly pid: number; readonly items: AsyncIterator<ExecItem> }> => {
    const items = (await client()).execute("web", shell("echo $$; sleep 1000"), new AbortController().signal);
    return { pid: Number(textOf(await next(items, "stdout"))), items };
  };
  const first = await begin();
  const logger = running.helper("logger");
  process.kill(logger, "SIGKILL");
  await processExit(logger);
  await eventually(() => running.helperIfUp("logger"));
  assert.ok(isAlive(first.pid));
  const service = running.helper("service");
  process.kill(service, "SIGKILL");
  await assert.rejects(next(first.items, "exited"));
  await processExit(first.pid);
  await eventually(() => running.helperIfUp("service"));
  const second = await begin();
  process.kill(running.pid, "SIGKILL");
  await assert.rejects(next(second.items, "exited"));
  await processExit(second.pid);
  await running.successor();
});
