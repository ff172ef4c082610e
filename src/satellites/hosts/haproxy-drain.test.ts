/** Hosts are drained and put back by the runtime API of HAProxy; here, a socket answers as HAProxy does. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { haproxyStep } from "./haproxy-drain.ts";

type Row = { readonly address?: string; readonly status?: string; readonly sessions?: number };

const HEAD = "# pxname,svname,qcur,qmax,scur,status,type,addr,";

/** `table`: its servers by `BACKEND/SERVER`; each command that changes one is in `commands`. */
async function scripted(context: TestContext, first: Readonly<Record<string, Row>>, refusal = "") {
  const folder = mkdtempSync(join(tmpdir(), "procman-haproxy-"));
  const socket = join(folder, "haproxy.sock");
  const table: Record<string, Row> = { ...first };
  const commands: string[] = [];
  const rows = (): readonly string[] =>
    Object.entries(table).map(([name, { address = "", status = "UP", sessions = 0 }]) => {
      const [backend, server] = name.split("/");
      return `${backend},${server},0,0,${sessions},${status},2,${address},`;
    });
  const answerTo = (command: string): string => {
    if (command.startsWith("show stat")) return `${[HEAD, ...rows()].join("\n")}\n\n`;
    commands.push(command.replace("set server ", ""));
    const [, , name = "", , state] = command.split(" ");
    if (refusal === "") table[name] = { ...table[name], status: state === "ready" ? "UP" : "DRAIN" };
    return `${refusal}\n`;
  };
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    let text = "";
    connection.on("data", (chunk) => {
      text += chunk.toString();
      if (text.endsWith("\n")) connection.end(answerTo(text.trim()));
    });
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  context.after(() => {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return { socket, table, commands };
}

const WEB1 = { name: "web1", hostname: "web1.invalid", seconds: 0.2 };
const step = (sockets: readonly string[], state: "drain" | "ready", { name, hostname, seconds } = WEB1) =>
  haproxyStep(sockets, { name, hostname, state }, { seconds });

test("the servers with the name of the host are drained in all backends, and put back", async (context) => {
  const { socket, commands } = await scripted(context, {
    "shop/web1": {},
    "shop/web2": {},
    "api/web1": {},
    "api/web2": { status: "no check" },
  });
  assert.equal(await step([socket], "drain"), undefined);
  assert.equal(await step([socket], "ready"), undefined);
  assert.deepEqual(commands, [
    "shop/web1 state drain",
    "api/web1 state drain",
    "shop/web1 state ready",
    "api/web1 state ready",
  ]);
});

test("without such a name, the servers with the address of the host are meant", async (context) => {
  const { socket, commands } = await scripted(context, {
    "shop/a": { address: "127.0.0.1:3000" },
    "shop/b": { address: "10.9.9.9:3000" },
    "six/a": { address: "[::1]:3000" },
  });
  const local = { name: "web1", hostname: "127.0.0.1", seconds: 0.2 };
  assert.equal(await step([socket], "drain", local), undefined);
  assert.match((await step([socket], "drain", { ...local, hostname: "::1" })) ?? "", /no other server of six is up/);
  assert.deepEqual(commands, ["shop/a state drain"]);
  assert.match(
    (await step([socket], "drain")) ?? "",
    /it has no server named web1, and none with the address of web1\.invalid; it has shop\/a, shop\/b, six\/a/,
  );
});

test("a server in maintenance is left as it is", async (context) => {
  const { socket, commands } = await scripted(context, {
    "shop/web1": { status: "MAINT" },
    "api/web1": {},
    "api/web2": {},
  });
  assert.equal(await step([socket], "drain"), undefined);
  assert.equal(await step([socket], "ready"), undefined);
  assert.deepEqual(commands, ["api/web1 state drain", "api/web1 state ready"]);
});

test("it waits for the end of sessions; after the limit, the host is put back, in every HAProxy", async (context) => {
  const [one, two] = await Promise.all([
    scripted(context, { "shop/web1": {}, "shop/web2": {} }),
    scripted(context, { "shop/web1": { sessions: 2 }, "shop/web2": {} }),
  ]);
  assert.match(
    (await step([one.socket, two.socket], "drain")) ?? "",
    /^Cannot drain shop\/web1: timed out after 0\.2 s: shop\/web1 still has 2 sessions; "show sess"/,
  );
  for (const { table } of [one, two]) assert.equal(table["shop/web1"]?.status, "UP");
  const ended = step([two.socket], "drain", { ...WEB1, seconds: 60 });
  two.table["shop/web1"] = { sessions: 0 };
  assert.equal(await ended, undefined);
});

test("a server that is down for HAProxy is no server that is back", async (context) => {
  const { socket, table } = await scripted(context, { "shop/web1": {}, "shop/web2": { status: "DOWN" } });
  assert.match(
    (await step([socket], "drain")) ?? "",
    /no other server of shop is up \(shop\/web1: UP, shop\/web2: DOWN\), so its requests would fail/,
  );
  const { socket: busy } = await scripted(context, { "shop/web1": { status: "UP 1/2" }, "shop/web2": {} }, "\n");
  assert.match((await step([busy], "ready")) ?? "", /shop\/web1 is UP 1\/2 for HAProxy/);
  Object.defineProperty(table, "shop/web1", { get: () => ({ status: "DOWN 1/2" }), set: () => undefined });
  assert.match(
    (await step([socket], "ready")) ?? "",
    /Cannot put shop\/web1 back: timed out .*: shop\/web1 is DOWN 1\/2/,
  );
});

test("what refuses, is missing, or is no HAProxy: the message says what to do", async (context) => {
  const servers = { "shop/web1": {}, "shop/web2": {} };
  const { socket } = await scripted(context, servers, "Permission denied");
  assert.match(
    (await step([socket], "drain")) ?? "",
    /may not change servers; add "level admin" to its line "stats socket"/,
  );
  const odd = await scripted(context, servers, "No such server.");
  assert.match((await step([odd.socket], "drain")) ?? "", /"set server shop\/web1 state drain": No such server\./);
  assert.match(
    (await step(["/nowhere/haproxy.sock"], "drain")) ?? "",
    /there is no \/nowhere\/haproxy\.sock; "stats socket/,
  );
  for (const address of ["haproxy.sock", "lb:0", "lb:99999", ""])
    assert.match(
      (await step([address], "drain")) ?? "",
      /it needs the absolute path of its "stats socket", or HOST:PORT/,
    );
  const foreign = createServer((connection) => connection.end("hello\n"));
  await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
  context.after(() => foreign.close());
  const { port } = foreign.address() as { readonly port: number };
  assert.match((await step([`127.0.0.1:${port}`], "drain")) ?? "", /is no HAProxy: it says "hello"/);
});
