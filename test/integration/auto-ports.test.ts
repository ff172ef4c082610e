/** `"port": "auto"`: free ports that stay with their checkout. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ListedPort } from "../../src/client/connection/port-list.ts";
import { type Checkout, checkouts, PAIR, server, startTogether } from "../support/checkout-rig.ts";
import { eventually, processExit } from "../support/procman-process.ts";

function one(context: TestContext, config: object = {}): Checkout {
  return checkouts(context, 1, config)[0] as Checkout;
}

/** A program that has the port, as `node (pid …)`. */
async function stranger(context: TestContext, port: number): Promise<void> {
  const other = createServer().listen(port, "127.0.0.1");
  context.after(() => void other.close());
  await once(other, "listening");
}

function configure({ folder }: Checkout, processes: readonly object[], top: object = {}): void {
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ ...top, processes }));
}

test("ten checkouts that start at once have twenty different ports, and procman ports shows them all", async (context) => {
  const all = checkouts(context, 10);
  await startTogether(all);
  const { out, err, code } = await (all[0] as Checkout).cli("ports", "--json");
  assert.equal(code, 0, err);
  const listed = JSON.parse(out) as readonly ListedPort[];
  for (const { folder, stateDir, ports } of all) {
    const own = listed.filter(({ checkout }) => checkout === folder);
    const expected = Object.entries(ports).map(([process, port]) => ({
      port,
      process,
      url: `http://127.0.0.1:${port}`,
      checkout: folder,
      stateDir,
    }));
    assert.deepEqual(
      own,
      expected.sort((first, second) => first.port - second.port),
    );
  }
});

test("a port stays over a reload, a killed service, a killed procman, an end and a start; a look reserves none", async (context) => {
  const checkout = one(context);
  const reserved = join(checkout.env.XDG_STATE_HOME ?? "", "procman/ports");
  const validated = await checkout.cli("validate");
  assert.deepEqual([validated.code, existsSync(checkout.stateDir), existsSync(reserved)], [0, false, false]);
  let procman = checkout.start();
  await procman.line(/^api .* started/);
  const { ports } = checkout;
  const before = [await checkout.told("web"), await checkout.told("api")];
  const more = [...PAIR, server("more", "web")];
  configure(checkout, more);
  assert.match((await checkout.cli("plan")).out, /more +start/);
  assert.deepEqual(readdirSync(reserved).sort(), Object.values(ports).map(String).sort());
  assert.equal((await checkout.cli("reload")).code, 0);
  assert.deepEqual({ ...checkout.ports, more: undefined }, { ...ports, more: undefined });
  assert.equal((await checkout.told("more")).peer, String(ports.web));
  configure(checkout, PAIR);
  assert.equal((await checkout.cli("reload")).code, 0);
  assert.deepEqual([await checkout.told("web"), await checkout.told("api")], before);

  const service = procman.helper("service");
  process.kill(service, "SIGKILL");
  await processExit(service);
  await eventually(async () => ((await checkout.cli("status", "web")).code === 0 ? true : undefined));
  assert.deepEqual([await checkout.told("web"), await checkout.told("api")], before);

  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  assert.deepEqual([await checkout.told("web"), await checkout.told("api")], before);
  await procman.stopHolder();

  procman = checkout.start();
  await procman.line(/^api .* started/);
  assert.deepEqual(checkout.ports, ports, "the port of the removed process is forgotten");
  const [web, api] = [await checkout.told("web"), await checkout.told("api")];
  assert.deepEqual([web.port, api.port], [ports.web, ports.api]);
  assert.deepEqual(readdirSync(reserved).sort(), Object.values(ports).map(String).sort());
  await procman.stop();
  rmSync(checkout.stateDir, { recursive: true });
  procman = checkout.start();
  await procman.line(/^api .* started/);
  assert.deepEqual(checkout.ports, ports, "the same place has the same ports again");
});

test("a port that another program took meanwhile is replaced at the next start, and a warning says who has it", async (context) => {
  const checkout = one(context);
  const first = checkout.start();
  await first.line(/^api .* started/);
  const { ports } = checkout;
  await first.stop();
  await stranger(context, ports.web ?? 0);
  const second = checkout.start();
  const warning = await second.line(/"web" gets port \d+, as \d+, which it had, is in use by node \(pid \d+/);
  assert.match(warning, new RegExp(`procman\\.json:1:\\d+: Found "auto": .* as ${ports.web}, .*pid ${process.pid}`));
  await second.line(/^api .* started/);
  assert.notEqual(checkout.ports.web, ports.web);
  assert.equal(checkout.ports.api, ports.api);
  assert.equal((await checkout.told("api")).peer, String(checkout.ports.web));
});

test("a start of a process whose port another program took meanwhile gives it the next one first", async (context) => {
  const checkout = one(context, { processes: [server("web", "api", { restart: "never" }), server("api", "web")] });
  const procman = checkout.start();
  await procman.line(/^api .* started/);
  await checkout.told("web");
  const { ports } = checkout;
  assert.equal((await checkout.cli("stop", "web")).code, 0);
  await stranger(context, ports.web ?? 0);
  const { code, out, err } = await checkout.cli("start", "web");
  assert.equal(code, 0, err);
  assert.match(out, /^web: running/);
  assert.notEqual(checkout.ports.web, ports.web);
  assert.equal((await checkout.told("web")).port, checkout.ports.web);
});

test("a start gives the ports where clients come the next one, too: of a process that sleeps, and of a cluster", async (context) => {
  const { port: _, ...nap } = server("nap", "nap", { idle: { after: 600, port: "auto" } });
  const { port: __, ...pool } = server("pool", "pool", {
    cluster: { instances: 2, startPort: "auto", commonPort: "auto" },
  });
  const checkout = one(context, { processes: [nap, pool] });
  const procman = checkout.start();
  await procman.line(/^pool-2 .* started/);
  const before = checkout.ports;
  for (const id of ["nap", "pool-2"]) {
    assert.equal((await checkout.cli("start", id)).code, 0);
    assert.deepEqual(checkout.ports, before, "the load balancer itself has the port");
  }
  for (const [id, key] of [
    ["nap", "nap:idle"],
    ["pool", "pool"],
  ] as const) {
    assert.equal((await checkout.cli("stop", id)).code, 0);
    await stranger(context, before[key] ?? 0);
    const { code, err } = await checkout.cli("start", id);
    assert.equal(code, 0, err);
    const port = checkout.ports[key];
    assert.notEqual(port, before[key]);
    assert.match((await checkout.cli("status", id)).out, new RegExp(`127\\.0\\.0\\.1:${port}\\b`));
  }
});

test("a run that fails because another program has its port gets the next one, and those that name it are told", async (context) => {
  const checkout = one(context, {
    processes: [server("web", "api", { restart: "always", restartDelayMs: 2_000 }), server("api", "web")],
  });
  const procman = checkout.start();
  await procman.line(/^api .* started/);
  const { pid } = await checkout.told("web");
  const { ports } = checkout;
  process.kill(pid, "SIGKILL");
  await processExit(pid);
  await stranger(context, ports.web ?? 0);
  await procman.line(new RegExp(`reload \\(port ${ports.web} of "web" is in use by node \\(pid ${process.pid}`));
  await eventually(() => (checkout.ports.web === ports.web ? undefined : true));
  const web = await checkout.told("web");
  assert.equal(web.port, checkout.ports.web);
  const api = await eventually(async () => {
    const told = await checkout.told("api");
    return told.peer === String(web.port) ? told : undefined;
  });
  assert.equal(api.port, ports.api);
});

test("with changes in the file that are not applied, such a run waits for a reload by its user", async (context) => {
  const checkout = one(context);
  const procman = checkout.start();
  await procman.line(/^api .* started/);
  await checkout.told("web");
  const { ports } = checkout;
  assert.equal((await checkout.cli("stop", "web")).code, 0);
  configure(checkout, [...PAIR, server("more", "web")]);
  await stranger(context, ports.web ?? 0);
  await checkout.cli("start", "web", "--no-wait");
  await procman.line(/port \d+ of "web" is in use by node .*; "procman reload" gives it another one/);
  assert.equal(checkout.ports.web, ports.web);
  // While a run tries again, its port is in use.
  await eventually(async () => (/^web +restart/m.test((await checkout.cli("plan")).out) ? true : undefined));
  await eventually(async () => {
    await checkout.cli("reload");
    return checkout.ports.web === ports.web ? undefined : true;
  });
  assert.equal((await checkout.told("web")).port, checkout.ports.web);
});

test("instances and the common port of a cluster have free ports, also those that scale adds", async (context) => {
  const { port: _, ...pool } = server("pool", "pool", {
    cluster: { instances: 2, startPort: "auto", commonPort: "auto" },
  });
  const checkout = one(context, { processes: [pool] });
  const procman = checkout.start();
  await procman.line(/^pool-2 .* started/);
  const { ports } = checkout;
  assert.deepEqual(Object.keys(ports).sort(), ["pool", "pool-1", "pool-2"]);
  const behind = await checkout.told("pool");
  assert.ok([ports["pool-1"], ports["pool-2"]].includes(behind.port));
  assert.equal(behind.peer, String(ports.pool));
  assert.equal((await checkout.cli("scale", "pool", "3")).code, 0);
  assert.deepEqual({ ...checkout.ports, "pool-3": undefined }, { ...ports, "pool-3": undefined });
  const third = (await checkout.told("pool-3")).port;
  assert.equal(third, checkout.ports["pool-3"]);
  assert.equal((await checkout.cli("stop", "pool-3")).code, 0);
  await stranger(context, third);
  await checkout.cli("start", "pool-3", "--no-wait");
  await eventually(() => (checkout.ports["pool-3"] === third ? undefined : true));
  assert.equal((await checkout.told("pool-3")).port, checkout.ports["pool-3"], "the number of instances has stayed");
  assert.equal((await checkout.cli("reload")).code, 0);
  assert.equal((await checkout.told("pool-1")).port, ports["pool-1"]);
});

test("clients of a process that sleeps have a free port, too: others name it, it stays, and a stranger there is noticed", async (context) => {
  const sleeper = server("web", "api", { idle: { port: "auto", after: 60 } });
  const checkout = one(context, { processes: [sleeper, server("api", "web")] });
  const first = checkout.start();
  const api = await checkout.told("api");
  const { ports } = checkout;
  const front = ports["web:idle"] ?? 0;
  assert.equal(new Set([front, ports.web, ports.api]).size, 3);
  assert.equal(api.peer, String(front));
  assert.equal((await checkout.told("web:idle")).port, ports.web, "it was woken, and has its own");
  const rows = async (): Promise<readonly (number | undefined)[]> =>
    (JSON.parse((await checkout.cli("ports", "--json")).out) as readonly ListedPort[]).flatMap((row) =>
      row.checkout === checkout.folder && row.process === "web" ? [row.port] : [],
    );
  assert.deepEqual(await rows(), [front]);
  assert.match((await checkout.cli("why", "web")).out, /^web runs/);
  await first.stop();
  await stranger(context, front);
  const second = checkout.start();
  await second.line(new RegExp(`Found "auto": "web" gets port \\d+, as ${front}, which it had, is in use by node`));
  assert.equal((await checkout.told("api")).peer, String(checkout.ports["web:idle"]));
  assert.notEqual(checkout.ports["web:idle"], front);
  assert.equal(checkout.ports.web, ports.web);
});

test("without a port that is left nothing starts, a reload changes nothing, and the error names process and range", async (context) => {
  const [small, other] = checkouts(context, 2, { portRange: "23990-23991" }) as readonly [Checkout, Checkout];
  const procman = small.start();
  await procman.line(/^api .* started/);
  const wanted = /no port from 23990 to 23991 is left for "web": .* Give "portRange" more ports/;
  const refused = await other.cli("run", "--detach");
  assert.equal(refused.code, 78);
  assert.match(refused.err, wanted);
  assert.match((await other.cli("validate", "--strict")).err, wanted);
  configure(small, [...PAIR, server("more", "web")], { portRange: "23990-23992" });
  await stranger(context, 23_992);
  const reload = await small.cli("reload");
  assert.equal(reload.code, 78);
  assert.match(reload.err, /no port from 23990 to 23992 is left for "more"/);
  assert.equal((await small.told("web")).port, small.ports.web);
});

test("export writes the port as a number, with a note; show and ports have it", async (context) => {
  const checkout = one(context);
  const procman = checkout.start();
  await procman.line(/^api .* started/);
  const { web, api } = checkout.ports;
  const { out, err } = await checkout.cli("export", "--to", "procfile");
  assert.match(out, new RegExp(`${web}`));
  assert.match(err, new RegExp(`web.*port.*"auto" has become ${web}, the port that it has here`));
  const shown = (await checkout.cli("show", "web")).out;
  assert.match(shown, new RegExp(`^port +${web}$`, "m"));
  assert.match(shown, new RegExp(`^variable +PEER=${api}$`, "m"));
  await procman.stop();
  const listed = (await checkout.cli("ports")).out;
  assert.match(listed, new RegExp(`^web +${web} .*${checkout.folder}$`, "m"));
  assert.doesNotMatch(listed, new RegExp(`http://127\\.0\\.0\\.1:${web}`));
});
