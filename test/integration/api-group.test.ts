/** `api.group`: members of a Unix group look at a procman by a socket that needs no token. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { homeOf, keeperIn, type Outcome, procman, SLEEPER } from "../support/cli.ts";
import { openedGateway } from "../support/odd-host.ts";
import { folderOf, type OtherUser, otherUser, runAs, sharedFolder } from "../support/other-user.ts";
import { childrenOf, nameOf } from "../support/proc-files.ts";
import { eventually, processExit } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";

const GID = process.getgid?.() ?? 0;
const web = { id: "web", ...SLEEPER };

type Shop = {
  readonly folder: string;
  readonly state: string;
  readonly socket: string;
  readonly service: () => number;
  /** A command from another folder, by the socket. */
  readonly ask: (...args: readonly string[]) => Promise<Outcome>;
  readonly configure: (group: unknown) => Promise<Outcome>;
};

/** A procman in the background whose group is this one's; `null`: it has none. */
async function shopFor(context: TestContext, group: unknown = GID): Promise<Shop> {
  const { folder, state } = homeOf(context, [web], group === null ? {} : { api: { group } });
  const run = await procman(folder, ["run", "--detach"]);
  assert.equal(run.code, 0, run.err);
  const socket = `${state}@group.sock`;
  const write = (value: unknown): void =>
    writeFileSync(
      join(folder, "procman.json"),
      JSON.stringify({ name: "test", processes: [web], api: value === undefined ? {} : { group: value } }),
    );
  return {
    folder,
    state,
    socket,
    service: () => (JSON.parse(readFileSync(join(state, "endpoint.json"), "utf8")) as Endpoint).pid,
    ask: (...args) => procman("/", [...args, "--host", `unix:${socket}`]),
    configure: async (value) => {
      write(value);
      return procman(folder, ["reload"]);
    },
  };
}

test("who may open the socket of the group looks without a token: status, logs, why", async (context) => {
  const { folder, socket, ask } = await shopFor(context);
  const { mode, gid } = statSync(socket);
  assert.deepEqual([mode & 0o777, gid], [0o660, GID]);
  assert.equal(statSync(join(folder, ".procman/test")).mode & 0o777, 0o700);
  assert.match((await ask("status")).out, /web +running/);
  assert.match((await ask("why", "web")).out, /^web runs/m);
  assert.match((await ask("logs")).out, /web +\| started/);
  assert.match(
    (await procman(folder, ["logs"])).out,
    new RegExp(`members of the group "${GID}" may look, by ${socket}`),
  );
});

test("members start, stop and change nothing, see no command line and get no other rights, whatever token they send", async (context) => {
  const { folder, socket, ask } = await shopFor(context);
  const refused = await ask("restart", "web");
  assert.equal(refused.code, 1);
  assert.match(
    refused.err,
    /"group:\d+": the group lacks the scope "control"; it has "read"; "api\.group" in the configuration sets what its members may do/,
  );
  for (const command of [["terminate"], ["reload"], ["plan"], ["show", "web"], ["flush"]])
    assert.match(
      (await ask(...command)).err,
      /lacks the scope "admin"; it has "read"; only the user of procman may do that|needs files of its user/,
      command.join(" "),
    );
  const token = (await procman(folder, ["token", "--consumer", "root"])).out.trim();
  const headers = { authorization: `Bearer ${token}` };
  const answer = await answerOf(socket, { path: "/processes/web/stop", method: "POST", headers });
  assert.equal(answer.status, 403);
  assert.equal((await answerOf(socket, { path: "/dashboard/code", method: "POST", headers })).status, 403);
  assert.match(
    (await procman(folder, ["logs", "--category", "api"])).out,
    /POST \/processes\/web\/stop for "group:\d+": refused/,
  );
});

test("with the scope control members restart, too, and the log names the group", async (context) => {
  const { folder, ask } = await shopFor(context, { name: GID, scopes: ["read", "control"] });
  assert.equal((await ask("restart", "web")).code, 0);
  const { out } = await procman(folder, ["logs", "--category", "api"]);
  assert.match(out, /restart.*group:\d+/);
  assert.match((await ask("terminate")).err, /lacks the scope "admin"; it has "read", "control"/);
});

test("a list of hosts has the socket by a name: status of several, and errors that say what to do", async (context) => {
  const { folder, socket } = await shopFor(context);
  const env = { XDG_CONFIG_HOME: join(folder, "settings") };
  const host = (...args: readonly string[]): Promise<Outcome> => procman("/", args, env);
  const added = await host("host", "add", "shop", `unix:${socket}`);
  assert.match(added.out, /^added shop: "test", procman /, added.err);
  assert.match((await host("host", "list")).out, new RegExp(`shop +unix:${socket}`));
  assert.match((await host("status", "--host", "all")).out, /shop +web +running/);
  assert.match(
    (await host("validate", "--host", "shop")).err,
    /shop is reached by the socket of a group, and "procman validate" needs files of its user; run it as that user/,
  );
  assert.match(
    (await host("host", "add", "x", `unix:${socket}`, "--token-file", "t")).err,
    /--token-file doesn't apply to unix:/,
  );
  assert.match((await host("host", "add", "x", "unix:x.sock")).err, /needs the absolute path of a socket/);
  const gone = await host("host", "add", "x", "unix:/nowhere/x.sock");
  assert.deepEqual(
    [gone.code, /ENOENT.*no procman is running there, or its configuration has no "api.group"/.test(gone.err)],
    [69, true],
    gone.err,
  );
});

test("the dashboard of a host that is the socket of a group needs no token, and shows what the group may do", async (context) => {
  const { socket } = await shopFor(context);
  const { link } = await openedGateway(context, {}, `unix:${socket}`);
  const [url = "", code = ""] = link.split("#code=");
  const post = (path: string, body?: object, token = ""): Promise<Response> =>
    fetch(`${url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
      ...(body && { body: JSON.stringify(body) }),
    });
  const { token } = (await (await post("dashboard/token", { code })).json()) as { readonly token: string };
  assert.deepEqual(JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()), {
    sub: "member",
    scope: "read",
  });
  assert.equal((await fetch(`${url}processes`, { headers: { authorization: `Bearer ${token}` } })).status, 200);
  assert.equal((await post("processes/web/stop", undefined, token)).status, 403);
});

test("the socket is there again after a kill and an upgrade of the service, and after a kill of all; the end removes it", async (context) => {
  const { folder, socket, service, ask } = await shopFor(context);
  for (const change of [
    () => Promise.resolve(process.kill(service(), "SIGKILL")),
    () => procman(folder, ["upgrade"]),
  ]) {
    await change();
    assert.match((await ask("status")).out, /web +running/);
  }
  assert.equal((await procman(folder, ["terminate"])).code, 0);
  assert.equal(existsSync(socket), false);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  assert.match((await ask("status")).out, /web +running/);
});

test("after a kill of all of procman the stale socket says that none is running, and the next run replaces it", async (context) => {
  const { folder, state, socket, ask } = await shopFor(context);
  const keeper = keeperIn(state);
  const parts = [keeper, ...childrenOf(keeper).filter((pid) => nameOf(pid).startsWith("procman: "))];
  for (const signal of ["SIGSTOP", "SIGKILL"] as const) for (const part of parts) process.kill(part, signal);
  for (const part of parts) await processExit(part);
  assert.ok(existsSync(socket));
  const { code, err } = await ask("status");
  assert.deepEqual([code, /ECONNREFUSED.*no procman is running there/.test(err)], [69, true], err);
  assert.equal((await procman(folder, ["run", "--detach"])).code, 0);
  assert.match((await ask("status")).out, /web +running/);
});

test("a reload opens the socket, changes its rights and closes it; connections of before end", async (context) => {
  const { socket, ask, configure } = await shopFor(context, null);
  assert.equal(existsSync(socket), false);
  const opened = await configure(GID);
  assert.match(opened.out, /api\.group/, opened.err);
  assert.match((await ask("status")).out, /web +running/);
  const stream = await streamOf(socket);
  await configure({ name: GID, scopes: ["read", "control"] });
  await stream.ended;
  assert.equal((await ask("restart", "web")).code, 0);
  const inode = statSync(socket).ino;
  await configure({ name: GID, scopes: ["read", "control"] });
  assert.equal(statSync(socket).ino, inode, "nothing has changed");
  await configure(undefined);
  await eventually(() => (existsSync(socket) ? undefined : true));
  assert.equal((await ask("status")).code, 69);
});

test("the folder of the socket must be procman's own: where others may write, there is none, and procman goes on", async (context) => {
  const { folder } = homeOf(context, [web], { api: { group: GID } });
  const root = join(folder, "open");
  mkdirSync(root);
  chmodSync(root, 0o777);
  const env = { PROCMAN_STATE_DIR: root };
  context.after(() => void procman(folder, ["terminate"], env));
  assert.equal((await procman(folder, ["run", "--detach"], env)).code, 0);
  assert.match(
    (await procman(folder, ["logs"], env)).out,
    new RegExp(
      `can't reach procman: other users may write in ${root}, and could replace their socket; "chmod go-w ${root}", then "procman reload"`,
    ),
  );
  assert.equal(existsSync(join(root, "test@group.sock")), false);
  chmodSync(root, 0o755);
  assert.equal((await procman(folder, ["reload"], env)).code, 0);
  await eventually(() => (existsSync(join(root, "test@group.sock")) ? true : undefined));
  assert.equal((await procman(folder, ["terminate"], env)).code, 0);
});

test("revoking the group's consumer shuts its members out without a reload", async (context) => {
  const { folder, ask } = await shopFor(context);
  writeFileSync(
    join(folder, "procman.json"),
    JSON.stringify({ name: "test", processes: [web], api: { group: GID, revoked: [`group:${GID}`] } }),
  );
  await eventually(async () => ((await ask("status")).code === 0 ? undefined : true));
  assert.match((await ask("status")).err, /the tokens of the consumer "group:\d+" are revoked/);
});

type Users = { readonly owner: OtherUser; readonly member: OtherUser; readonly stranger: OtherUser };

/** The group is the only one of owner and member, and the stranger isn't in it. */
const OPS = 54_321;

function usersFor(context: TestContext): Users | undefined {
  const [nobody, daemon] = [otherUser(context), otherUser(context, "daemon")];
  if (nobody === undefined || daemon === undefined) return undefined;
  return { owner: { ...daemon, gid: OPS }, member: { ...nobody, gid: OPS }, stranger: nobody };
}

function foldersOf(context: TestContext, owner: OtherUser, group: unknown): string {
  let folder = "";
  // Before the folder is removed.
  context.after(async () => {
    const keeper = keeperIn(join(folder, ".procman/shop"));
    if (keeper === 0) return;
    process.kill(keeper, "SIGTERM");
    await processExit(keeper);
  });
  folder = folderOf(owner, join(sharedFolder(context), "shop"));
  writeFileSync(join(folder, "procman.json"), JSON.stringify({ name: "shop", processes: [web], api: { group } }));
  return folder;
}

function as(user: OtherUser, cwd: string, ...args: readonly string[]): Promise<Outcome> {
  return runAs(user, [process.execPath, BIN, ...args], { cwd });
}

test("in the folder of the configuration a member needs no address: commands find the socket; others are told whom to ask", async (context) => {
  const users = usersFor(context);
  if (users === undefined) return;
  const { owner, member, stranger } = users;
  const folder = foldersOf(context, owner, OPS);
  const run = await as(owner, folder, "run", "--detach");
  assert.equal(run.code, 0, run.err);
  assert.equal(statSync(join(folder, ".procman")).mode & 0o777, 0o711);
  const status = await as(member, folder, "status");
  assert.match(status.out, /web +running/, status.err);
  assert.match((await as(member, folder, "logs", "web")).out, /started/);
  assert.match((await as(member, folder, "why", "web")).out, /^web runs/m);
  assert.match((await as(member, folder, "stop", "web")).err, /the group lacks the scope "control"/);
  assert.match((await as(member, folder, "why", "mail")).err, /Cannot find process "mail"/);
  const there = `unix:${join(folder, ".procman/shop@group.sock")}`;
  const denied = await as(stranger, folder, "status", "--host", there);
  assert.deepEqual(
    [denied.code, /EACCES.*its group may connect: "id" shows your groups/.test(denied.err)],
    [69, true],
    denied.err,
  );
  assert.match(
    (await as(stranger, folder, "status")).err,
    /belongs to daemon, not to the user nobody; run this as daemon: "sudo -u daemon procman status"/,
  );
  assert.match((await procman(folder, ["status"])).err, /run this as daemon: "sudo -u daemon procman status"/, "root");
  assert.equal((await as(owner, folder, "terminate")).code, 0);
  assert.match((await as(member, folder, "status")).err, /run this as daemon/);
});

test("a procman that isn't in the group says so, at its start and in validate --strict, and goes on", async (context) => {
  const users = usersFor(context);
  if (users === undefined) return;
  const folder = foldersOf(context, users.owner, "root");
  const remedy =
    /procman's user daemon is not in that group, so it can't open a socket for it: "usermod -aG root daemon" as root, then start procman from a new login/;
  const strict = await as(users.owner, folder, "validate", "--strict");
  assert.match(strict.err, remedy);
  assert.match(strict.err, /procman\.json:1:\d+/);
  const run = await as(users.owner, folder, "run", "--detach");
  assert.equal(run.code, 0, run.err);
  assert.match((await as(users.owner, folder, "logs")).out, remedy);
  assert.match((await as(users.owner, folder, "status")).out, /web +running/);
});

test("a folder above that the group may not enter is named with the remedy", async (context) => {
  const users = usersFor(context);
  if (users === undefined) return;
  const folder = foldersOf(context, users.owner, "users");
  chmodSync(folder, 0o700);
  const { err } = await procman(folder, ["validate"]);
  assert.match(
    err,
    new RegExp(
      `its members may not enter ${folder}, in which the socket is: "setfacl -m g:users:x ${folder}" or "chmod o\\+x ${folder}" lets them`,
    ),
  );
});

test("a path that is too long for a socket is one for commands of procman", {
  skip: process.platform !== "linux",
}, async (context) => {
  const { folder } = homeOf(context, [web], { api: { group: GID } });
  const root = mkdtempSync(join(tmpdir(), "procman-scratch-"));
  context.after(() => rmSync(root, { recursive: true, force: true }));
  const long = join(root, "long".repeat(20), "path".repeat(20));
  mkdirSync(long, { recursive: true });
  const env = { PROCMAN_STATE_DIR: long };
  assert.equal((await procman(folder, ["run", "--detach"], env)).code, 0);
  const status = await procman("/", ["status", "--host", `unix:${join(long, "test@group.sock")}`]);
  assert.match(status.out, /web +running/, status.err);
  assert.equal((await procman(folder, ["terminate"], env)).code, 0);
});

type Asked = { readonly path: string; readonly method?: string; readonly headers?: Readonly<Record<string, string>> };

async function answerOf(
  socketPath: string,
  { path, method = "GET", headers = {} }: Asked,
): Promise<{ readonly status: number }> {
  const asked = request({ socketPath, path, method, headers: { host: "localhost", ...headers } });
  asked.end();
  const [response] = await once(asked, "response");
  response.resume();
  await once(response, "end");
  return { status: response.statusCode };
}

/** The stream of events, from its first bytes on. */
async function streamOf(socketPath: string): Promise<{ readonly ended: Promise<unknown> }> {
  const asked = request({ socketPath, path: "/events", headers: { host: "localhost" } });
  asked.end();
  const [response] = await once(asked, "response");
  response.resume();
  const ended = new Promise((resolve) => response.once("error", () => undefined).once("close", resolve));
  return { ended };
}
