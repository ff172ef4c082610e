/** What a spawn request gives a run. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { specsOf } from "../../../../test/support/service-fakes.ts";
import type { RawProcess } from "../../config/config-schema.ts";
import { normalise } from "../../config/normalise.ts";
import type { Config, ProcessSpec } from "../../config/spec.ts";
import { colorVariables, spawnRequestOf } from "./spawn-request.ts";

function specOf(process: RawProcess): ProcessSpec {
  const { processes } = normalise(
    { processes: [process] },
    { folder: "/nowhere", parallelism: 1, now: new Date(0), stripsTypes: false },
  );
  return processes[0] ?? assert.fail("there is no process");
}

function configOf(spec: ProcessSpec): Config {
  return specsOf([spec], { stateDir: "/state", plugins: [], console: { decorate: false, colors: false } }).config;
}

function variablesFor(spec: ProcessSpec): Readonly<Record<string, string>> {
  const accessOf = () => ({
    address: { hostname: "127.0.0.1", port: 20_001 },
    socket: "/state/run/api.sock",
    token: "t",
  });
  return spawnRequestOf(spec, {
    config: configOf(spec),
    marker: "web.1@x",
    proxyToken: () => "",
    slot: "web",
    run: 1,
    accessOf,
  }).env;
}

test("only a process of procman's own user gets PROCMAN_API_SOCKET; each gets the port and a token", () => {
  const spec = specOf({ id: "web", cmd: "true", autostart: true });
  const uid = process.getuid?.() ?? assert.fail("no POSIX system");
  const user = { name: "deploy", uid, gid: uid, home: "/home/deploy" };
  const [own, same, other] = [spec, { ...spec, user }, { ...spec, user: { ...user, uid: uid + 1 } }].map(variablesFor);
  const shared = { PROCMAN_API_HOSTNAME: "127.0.0.1", PROCMAN_API_PORT: "20001", PROCMAN_API_TOKEN: "t" };
  const apiOf = (variables: Readonly<Record<string, string>> = {}): object =>
    Object.fromEntries(Object.entries(variables).filter(([name]) => name.startsWith("PROCMAN_API_")));
  assert.deepEqual(apiOf(own), { ...shared, PROCMAN_API_SOCKET: "/state/run/api.sock" });
  assert.deepEqual(apiOf(same), { ...shared, PROCMAN_API_SOCKET: "/state/run/api.sock" });
  assert.deepEqual(apiOf(other), shared);
});

test("a user without an entry in /etc/passwd has no home: never that of procman's user", () => {
  const spec = specOf({ id: "web", cmd: "true" });
  const homeOf = (home?: string): string | undefined =>
    variablesFor({ ...spec, user: { name: "12345", uid: 12_345, gid: 12_345, ...(home !== undefined && { home }) } })
      .HOME;
  assert.deepEqual([homeOf(), homeOf("/home/deploy")], ["/", "/home/deploy"]);
});

test("2.2 cluster: an instance finds its port in PORT, unless the configuration sets that, or in the variable that it names", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-port-"));
  context.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, ".env"), "PORT=80\n");
  process.env.PORT = "81";
  context.after(() => delete process.env.PORT);
  const portsOf = (cluster: object, more: object = {}) => {
    const { PORT, HTTP_PORT, PROCMAN_CLUSTER_PORT } = variablesFor(
      specOf({ id: "web", cmd: "true", ...more, cluster: { instances: 1, ...cluster } }),
    );
    return [PORT, HTTP_PORT, PROCMAN_CLUSTER_PORT];
  };
  const envFile = join(folder, ".env");
  assert.deepEqual(portsOf({ startPort: 3000 }), ["3000", undefined, "3000"]);
  assert.deepEqual(portsOf({ startPort: 3000 }, { env: { PORT: "82" } }), ["82", undefined, "3000"]);
  assert.deepEqual(portsOf({ startPort: 3000 }, { env: { PORT: "${PORT}" } }), ["81", undefined, "3000"]);
  assert.deepEqual(portsOf({ startPort: 3000 }, { envFile }), ["80", undefined, "3000"]);
  assert.deepEqual(portsOf({ startPort: 3000, portVariable: "PORT" }, { envFile }), ["3000", undefined, "3000"]);
  assert.deepEqual(portsOf({ startPort: 3000, portVariable: "HTTP_PORT" }, { envFile }), ["80", "3000", "3000"]);
  assert.deepEqual(portsOf({ startPort: 3000, portVariable: "PROCMAN_CLUSTER_PORT" }), [undefined, undefined, "3000"]);
  assert.deepEqual(portsOf({}), [undefined, undefined, undefined]);
  assert.deepEqual(portsOf({ startPort: 3000 }, { env: { PORT: "${PROCMAN_CLUSTER_PORT}" } }), [
    "3000",
    undefined,
    "3000",
  ]);
});

test("open input is a FIFO in the state folder; a file is opened by the run itself, and must be there", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-stdin-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const requestOf = (stdin: RawProcess["stdin"]) => {
    const spec = specOf({ id: "web", cmd: "cat", stdin });
    const { argv, stdin: fifo } = spawnRequestOf(spec, {
      config: configOf(spec),
      marker: "web.1@x",
      proxyToken: () => "",
      slot: "web",
      run: 1,
      accessOf: () => undefined,
    });
    return [fifo, argv.includes("cat"), argv.length > 1];
  };
  assert.deepEqual(requestOf(true), ["/state/run/stdin-web", true, false]);
  assert.deepEqual(requestOf(false), [undefined, true, false]);
  const file = join(folder, "answers.txt");
  assert.throws(() => requestOf({ file }), {
    message: `its input file ${file} does not exist, or procman's user can't reach it; create it or correct "stdin"`,
  });
  assert.throws(() => requestOf({ file: folder }), { message: `its input file ${folder} is a folder; correct "stdin"` });
  writeFileSync(file, "");
  assert.deepEqual(requestOf({ file }), [undefined, true, true]);
});

test("a Node program behind the load balancer gets the token of the headers; with proxyProtocol a plain server reads them itself", () => {
  const partsOf = (process: Partial<RawProcess>): string | undefined => {
    const cluster = { instances: 2, commonPort: 3_000, startPort: 3_001 };
    const spec = specOf({ id: "web", cmd: "node web.js", autostart: true, node: true, cluster, ...process });
    const context = {
      config: configOf(spec),
      marker: "web.1@x",
      proxyToken: () => "0123456789abcdef",
      slot: "web",
      run: 1,
    };
    return spawnRequestOf(spec, { ...context, accessOf: () => undefined }).env.PROCMAN_NODE;
  };
  assert.match(partsOf({}) ?? "", / proxy=0123456789abcdef$/);
  const cluster = { instances: 2, commonPort: 3_000, startPort: 3_001, proxyProtocol: true };
  assert.match(partsOf({ cluster }) ?? "", / proxy=0123456789abcdef raw=net$/);
  assert.doesNotMatch(partsOf({ cluster: { instances: 2, commonPort: 3_000, mode: "share" } }) ?? "", /proxy=/);
  assert.equal(partsOf({ node: false }), undefined);
});

test("a program whose output goes to a colored console alone is told to write colors", () => {
  const log = { console: true } as ProcessSpec["log"];
  const colors = { FORCE_COLOR: "1", CLICOLOR_FORCE: "1" };
  assert.deepEqual(colorVariables({ log }, {}), colors);
  assert.deepEqual(colorVariables({ log: { ...log, console: false } }, {}), {});
  assert.deepEqual(colorVariables({ log: { ...log, stdout: "/a.log" } }, {}), {});
  assert.deepEqual(colorVariables({ log }, { FORCE_COLOR: "3" }), {}, "what the user has set is inherited");
  assert.deepEqual(colorVariables({ log, ready: { kind: "log", pattern: "listening" } }, {}), {});
});
