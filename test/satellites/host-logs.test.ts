/** `procman logs` of several hosts: procmans of this machine, each by the port of its API, or by ssh. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { homeOf, keeperIn, procman } from "../support/cli.ts";
import { freeRange } from "../support/free-ports.ts";
import { hostsFolder } from "../support/odd-host.ts";
import { cleanEnvironment, eventually, processExit } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { sshServer } from "../support/ssh-server.ts";

const NAMES = ["a", "b", "c"] as const;

/** Each host prints what is appended to its file `said`. */
async function hostsWith(context: TestContext) {
  const here = hostsFolder(context, {});
  const ports = await freeRange(NAMES.length);
  const hosts: { readonly folder: string; readonly state: string; readonly say: (line: string) => void }[] = [];
  for (const [index, name] of NAMES.entries()) {
    const { folder, state } = homeOf(context, []);
    const said = join(folder, "said");
    writeFileSync(said, "");
    const processes = [{ id: "web", cmd: `exec tail -n 0 -F ${said}`, autostart: true }];
    writeFileSync(
      join(folder, "procman.json"),
      JSON.stringify({ name: "test", api: { port: ports + index }, processes }),
    );
    const started = await procman(folder, ["run", "--detach", "--wait"]);
    assert.equal(started.code, 0, started.err);
    const token = join(here.folder, `${name}.token`);
    writeFileSync(token, (await procman(folder, ["token", "--consumer", "ops"])).out, { mode: 0o600 });
    const added = await here.add(name, `http://127.0.0.1:${ports + index}`, "--token-file", token, "--group", "web");
    assert.equal(added.code, 0, added.err);
    hosts.push({ folder, state, say: (line: string) => appendFileSync(said, `${line}\n`) });
  }
  const has = (index: number, line: string): Promise<true> =>
    eventually(
      async () => (await procman(hosts[index]?.folder ?? "", ["logs", "web"])).out.includes(line) || undefined,
    );
  return { ...here, hosts, has };
}

test("lines of several hosts are merged by time, each with its host; one that is away is named", async (context) => {
  const { run, hosts, has } = await hostsWith(context);
  for (const [index, line] of [
    [0, "one"],
    [2, "two"],
    [1, "three"],
    [0, "four"],
  ] as const) {
    hosts[index]?.say(line);
    await has(index, line);
  }
  const shown = await run("logs", "web", "--category", "stdout", "--host", "@web");
  assert.equal(shown.code, 0, shown.err);
  assert.deepEqual(
    shown.out
      .trimEnd()
      .split("\n")
      .map((line) => line.replace(/^\S+ /, "").replace(/ +/g, " ")),
    ["a web | one", "c web | two", "b web | three", "a web | four"],
  );
  const last = await run("logs", "web", "--category", "stdout", "-n", "2", "--json", "--host", "a,b,c");
  const entries = last.out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    entries.map(({ host, process: id, text }) => [host, id, text]),
    [
      ["b", "web", "three"],
      ["a", "web", "four"],
    ],
  );
  const all = await run("logs", "web", "--since", "1h", "--search", "t", "--host", "@web");
  assert.deepEqual(all.out.match(/two|three/g), ["two", "three"]);
  const wrong = await run("logs", "wbe", "--host", "@web");
  assert.deepEqual([wrong.code, /Did you mean "web"/.test(wrong.err)], [1, true], wrong.err);
  assert.equal((await procman(hosts[1]?.folder ?? "", ["terminate"])).code, 0);
  const partly = await run("logs", "web", "--category", "stdout", "--host", "@web");
  assert.equal(partly.code, 69);
  assert.equal(partly.err.match(/procman: b: /g)?.length, 1, partly.err);
  assert.deepEqual(partly.out.match(/one|two|four/g), ["one", "two", "four"]);
});

test("followed, a host that was away continues without a lost or doubled line", async (context) => {
  const { folder, env, hosts, has } = await hostsWith(context);
  const args = ["logs", "web", "-f", "-n", "10", "--category", "stdout", "--json", "--host", "@web"];
  const follower = spawn(process.execPath, [BIN, ...args], {
    cwd: folder,
    env: cleanEnvironment(env),
    stdio: ["ignore", "pipe", "pipe"],
  });
  context.after(() => follower.kill("SIGKILL"));
  let out = "";
  let err = "";
  follower.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  follower.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const shown = (): readonly string[] =>
    out
      .split("\n")
      .slice(0, -1)
      .map((line) => {
        const { host, text } = JSON.parse(line) as { readonly host: string; readonly text: string };
        return `${host} ${text}`;
      });
  const until = (line: string) => eventually(() => shown().includes(line) || undefined, { what: `${line}: ${err}` });
  const [a, b] = hosts;
  a?.say("one");
  await until("a one");
  b?.say("two");
  await until("b two");
  const keeper = keeperIn(b?.state ?? "");
  assert.equal((await procman(b?.folder ?? "", ["terminate"])).code, 0);
  await processExit(keeper);
  await eventually(() => /procman: b: /.test(err) || undefined);
  a?.say("three");
  await until("a three");
  assert.equal((await procman(b?.folder ?? "", ["run", "--detach", "--wait"])).code, 0);
  b?.say("four");
  await has(1, "four");
  await until("b four");
  assert.deepEqual([...shown()].sort(), ["a one", "a three", "b four", "b two"]);
  assert.equal(err.match(/procman: b: /g)?.length, 1, err);
  follower.kill("SIGINT");
  await processExit(follower.pid ?? 0);
});

test("by ssh: the connections end with the command", async (context) => {
  const server = await sshServer(context);
  const hosts = ["one", "two"].map((line) =>
    homeOf(context, [{ id: "web", cmd: `echo ${line}; exec sleep 1000`, autostart: true }]),
  );
  const [first] = hosts;
  for (const [index, { folder }] of hosts.entries()) {
    const started = await procman(folder, ["run", "--detach", "--wait"]);
    assert.equal(started.code, 0, started.err);
    const url = `ssh://${server.user}@127.0.0.1:${server.port}${folder}`;
    const added = await procman(folder, ["host", "add", `web${index}`, url, "--program", server.program], server.env);
    assert.equal(added.code, 0, added.err);
  }
  const args = ["logs", "--category", "stdout", "--host", "all"];
  const shown = await procman(first?.folder ?? "", args, server.env);
  assert.equal(shown.code, 0, shown.err);
  assert.match(shown.out, /^\S+ web0 web +\| one\n\S+ web1 web +\| two\n$/);
});
