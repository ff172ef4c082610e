/** `"warm": true` in `releases`: the instances of before stay beside the new ones until the gate is over. Under load, no request fails. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, procman } from "../support/cli.ts";
import { freeRange } from "../support/free-ports.ts";
import { eventually } from "../support/procman-process.ts";
import { DIST } from "../support/product.ts";

/** It answers with its release; after `/bad` it reports an error. */
const SERVER = `
const { readFileSync } = require("node:fs");
const release = readFileSync("VERSION", "utf8").trim();
let errors_total = 0;
require(${JSON.stringify(join(DIST, "telemetry.cjs"))}).reportTelemetry({ everySeconds: 1, metrics: () => ({ errors_total }) });
const server = require("node:http").createServer(({ url }, response) => {
  if (url === "/bad") errors_total += 1;
  response.setHeader("connection", "close");
  response.end(release);
}).listen(process.env.PORT);
process.once("SIGTERM", () => server.close(() => process.exit()));
`;

type Site = {
  readonly folder: string;
  readonly port: number;
  readonly deploy: (version: string) => Promise<{ readonly code: number; readonly out: string; readonly err: string }>;
  readonly instances: () => Promise<readonly string[]>;
};

async function siteOf(context: TestContext, releases: object): Promise<Site> {
  const startPort = await freeRange();
  const port = startPort + 8;
  const web = {
    id: "web",
    cmd: "node server.js",
    cwd: "current",
    autostart: true,
    restart: "always",
    minUptimeMs: 100,
    cluster: { instances: 2, commonPort: port, startPort },
  };
  const home = homeOf(context, [web], { releases: { warm: true, ...releases } });
  const { folder } = home;
  await procman(folder, ["run", "--detach"]);
  const deploy: Site["deploy"] = (version) => {
    const place = join(folder, "builds", version);
    mkdirSync(place, { recursive: true });
    writeFileSync(join(place, "server.js"), SERVER);
    writeFileSync(join(place, "VERSION"), version);
    return procman(folder, ["deploy", place, "--wait"]);
  };
  const instances = async (): Promise<readonly string[]> => {
    const [record] = JSON.parse((await procman(folder, ["status", "--json"])).out) as readonly ProcessRecord[];
    return (record?.instances ?? []).map(({ id, status, backend }) => `${id} ${status} ${backend?.accepting === true}`);
  };
  return { folder, port, deploy, instances };
}

type Answer = { readonly at: number; readonly release: string };

/** Four clients ask without a pause, each request by its own connection. */
class Load {
  readonly answers: Answer[] = [];
  readonly failures: string[] = [];
  readonly #agent = new Agent({ keepAlive: false });
  readonly #port: number;
  #isOver = false;
  readonly #clients: readonly Promise<void>[];

  constructor(context: TestContext, port: number) {
    context.after(() => this.end());
    this.#port = port;
    this.#clients = Array.from({ length: 4 }, () => this.#client());
  }

  ask(path = "/"): Promise<string> {
    return new Promise((resolve, reject) => {
      get({ port: this.#port, path, agent: this.#agent }, (response) => {
        let text = "";
        response.setEncoding("utf8");
        response.on("data", (part: string) => (text += part));
        response.on("error", reject);
        response.on("end", () => (response.complete ? resolve(text) : reject(new Error("cut off"))));
      }).on("error", reject);
    });
  }

  async #client(): Promise<void> {
    while (!this.#isOver)
      try {
        const release = await this.ask();
        this.answers.push({ at: Date.now(), release });
      } catch (error) {
        this.failures.push((error as Error).message);
      }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }
}

test("under load: no request fails, and the numbers are those of before", async (context) => {
  const site = await siteOf(context, { gate: { seconds: 6 } });
  const first = await site.deploy("one");
  assert.equal(first.code, 0, first.err);
  const load = new Load(context, site.port);
  const deployed = site.deploy("two");
  const during = await eventually(async () => {
    const found = await site.instances();
    return found.length === 4 && found[0]?.endsWith("running false") && found[2]?.endsWith("running true")
      ? found
      : undefined;
  });
  assert.deepEqual(during, ["web-1 running false", "web-2 running false", "web-3 running true", "web-4 running true"]);
  const from = Date.now();
  for (const [args, message] of [
    [["scale", "web", "3"], /a deployment runs instances of two releases/],
    [["reload"], /a deployment runs instances of two releases/],
  ] as const) {
    const { code, err } = await procman(site.folder, args);
    assert.match(err, message);
    assert.notEqual(code, 0);
  }
  const { code, out, err } = await deployed;
  assert.equal(code, 0, err);
  assert.match(out, /starting as many instances again: web\n/);
  await load.end();
  assert.deepEqual(load.failures, []);
  const late = load.answers.filter(({ at }) => at > from).map(({ release }) => release);
  assert.ok(late.length > 100);
  assert.deepEqual([...new Set(late)], ["two"], "the instances of before get no clients");
  assert.deepEqual(await site.instances(), ["web-1 running true", "web-2 running true"]);
});

test("a bad release: the instances of before serve again after milliseconds, and were not restarted", async (context) => {
  const site = await siteOf(context, { gate: { seconds: 8, metrics: { errors_total: "+0" } } });
  const first = await site.deploy("one");
  assert.equal(first.code, 0, first.err);
  const pids = async (): Promise<readonly (number | undefined)[]> =>
    (JSON.parse((await procman(site.folder, ["status", "--json"])).out) as readonly ProcessRecord[])
      .flatMap(({ instances = [] }) => instances)
      .map(({ pid }) => pid);
  const before = await pids();
  const load = new Load(context, site.port);
  const deployed = site.deploy("two");
  await eventually(async () => ((await site.instances())[0] === "web-1 running false" ? true : undefined));
  // Each has reported before, so that the number can grow.
  await eventually(async () => ((await reported(site)).every((value) => value === 0) ? true : undefined));
  assert.equal(await load.ask("/bad"), "two");
  const { code, err } = await deployed;
  assert.equal(code, 1);
  assert.match(
    err,
    /the gate: the metric "errors_total" of "web-[34]" has grown by 1; allowed: \+0; .* is in use again/,
  );
  await load.end();
  assert.deepEqual(load.failures, []);
  const { out } = await procman(site.folder, [
    "logs",
    "--category",
    "service",
    "--search",
    "deploy: the gate",
    "--json",
  ]);
  const decided = Date.parse((JSON.parse(out.trim().split("\n").at(-1) ?? "") as { readonly time: string }).time);
  const last = Math.max(...load.answers.filter(({ release }) => release === "two").map(({ at }) => at));
  context.diagnostic(
    `the last answer of the new release came ${(last - decided).toFixed(0)} ms after the gate had failed`,
  );
  assert.ok(last - decided < 500, `${last - decided} ms`);
  assert.deepEqual(await pids(), before);
  assert.equal(readFileSync(join(site.folder, "current/VERSION"), "utf8"), "one");
});

/** The number that each instance of the new release has reported. */
async function reported({ folder }: Site): Promise<readonly (number | undefined)[]> {
  const [record] = JSON.parse((await procman(folder, ["status", "--json"])).out) as readonly ProcessRecord[];
  return (record?.instances ?? []).slice(2).map(({ telemetry }) => telemetry?.metrics?.errors_total);
}
