/** The stack of `procman export --to swarm` on a real swarm: docs/guide/export.md. */
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse, stringify } from "yaml";
import { until } from "../support/docker-engine.ts";
import { exported, fileOf } from "../support/export-rig.ts";
import { MACHINES, NODES, type NodeName, SwarmRig } from "../support/swarm-rig.ts";

const SERVER = `const server = require("node:http").createServer((_, answer) => answer.end(process.env.VERSION));
server.listen(process.env.PORT, "0.0.0.0");
process.on("SIGTERM", () => server.close(() => process.exit(0)));
`;

/** Asks the nodes in turn until its input ends, and the next one where a node refuses, as a load balancer does; prints how many answers there were of each kind. */
const CLIENT = `const http = require("node:http");
const [addresses, seconds] = [process.argv[1].split(","), Number(process.argv[2])];
const end = Date.now() + seconds * 1000;
const counts = {};
const ask = (host) => new Promise((done) => {
  const request = http.get({ host, port: 3001, agent: false, timeout: 2000 }, (answer) => answer.setEncoding("utf8").on("data", done));
  request.on("error", ({ code }) => done(code));
  request.on("timeout", () => request.destroy(Object.assign(new Error(), { code: "TIMEOUT" })));
});
(async () => {
  for (let turn = 0; Date.now() < end; turn++) {
    let answer;
    for (let n = 0; n < addresses.length && (answer === undefined || answer === "ECONNREFUSED"); n++) answer = await ask(addresses[(turn + n) % addresses.length]);
    counts[answer] = (counts[answer] ?? 0) + 1;
  }
  console.log(JSON.stringify(counts));
})();`;

type Counts = Readonly<Record<string, number>>;

function stack(version: string): string {
  const web = {
    id: "web",
    cmd: "node server.js",
    autostart: true,
    restart: "always",
    terminateTimeout: 5,
    env: { VERSION: version },
    health: { http: "http://127.0.0.1:{port}/", interval: 1, failures: 5 },
    cluster: { instances: 2, startPort: 3001, commonPort: 3000 },
  };
  return fileOf(exported("swarm", { name: "shop", processes: [web] }, { image: "shop:1" }), "stack.yaml");
}

/** On the network of the nodes, where an instance has a port for itself: Swarm's ingress network needs IPVS in the kernel. */
function onHostNetwork(text: string): string {
  const tree = parse(text);
  delete tree.services.web.ports;
  tree.services.web.networks = ["nodes"];
  tree.services.web.deploy.placement = { max_replicas_per_node: 1 };
  tree.services.web.deploy.update_config.order = "stop-first";
  tree.networks = { nodes: { external: true, name: "host" } };
  return stringify(tree);
}

test("a swarm of three nodes runs the exported stack, updates it under load, and replaces an instance of a lost node", async (context) => {
  const rig = await SwarmRig.create(context);
  if (rig === undefined) return;
  rig.image("shop:1", { "server.js": SERVER });
  const deploy = (text: string): string => {
    writeFileSync(join(rig.folder, "stack.yaml"), text);
    return rig.docker("a", "stack", "deploy", "--resolve-image=never", "-c", "stack.yaml", "shop");
  };
  const healthyOn = (name: NodeName): number =>
    (rig.tryDocker(name, "ps", "-q", "--filter", "name=shop_web", "--filter", "health=healthy") ?? "").split("\n")
      .length - 1;
  const healthy = (names: readonly NodeName[] = NODES): number =>
    names.map(healthyOn).reduce((sum, count) => sum + count, 0);
  const load = (seconds: number): Promise<Counts> => {
    const targets = NODES.map((name) => MACHINES.addressOf(name)).join(",");
    const client = rig.inNetwork(process.execPath, ["-e", CLIENT, targets, String(seconds)]);
    return new Promise((resolve) =>
      client.stdout?.setEncoding("utf8").on("data", (text: string) => resolve(JSON.parse(text))),
    );
  };

  deploy(stack("exported"));
  await until(() => healthy() === 2, "the stack as it was exported");
  rig.docker("a", "stack", "rm", "shop");
  await until(
    () => rig.docker("a", "network", "ls", "--filter", "name=shop_default", "-q") === "",
    "the end of the stack",
  );

  deploy(onHostNetwork(stack("one")));
  await until(() => healthy() === 2, "the first version");
  const during = load(40);
  const deployed = deploy(onHostNetwork(stack("two")));
  const stateOf = (): string =>
    rig.docker("a", "service", "inspect", "shop_web", "--format", "{{.UpdateStatus.State}}").trim();
  const took = await until(() => stateOf() === "completed", `the update: ${deployed}`);
  const counts = await during;
  context.diagnostic(`update in ${Math.round(took)} ms: ${JSON.stringify(counts)}`);
  const { one = 0, two = 0, ECONNRESET: reset = 0, ...others } = counts;
  assert.deepEqual(others, {}, "every request is answered, by one of the versions");
  // What is in the queue of a socket when its server closes it is reset: no engine can prevent that.
  assert.ok(one > 0 && two > 0 && reset < (one + two) / 1_000, JSON.stringify(counts));

  const [lost] = NODES.filter((name) => name !== "a" && healthyOn(name) > 0);
  assert.ok(lost !== undefined, "an instance is on another node than the one that is asked");
  rig.cut(lost);
  const left = NODES.filter((name) => name !== lost);
  const replaced = await until(() => healthy(left) === 2, "the replacement");
  context.diagnostic(`replaced after ${Math.round(replaced)} ms`);
  assert.ok(((await load(2)).two ?? 0) > 0);
});
