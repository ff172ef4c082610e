/** `--host`: commands for other machines, by a real sshd and by https. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { certificateIn } from "../support/certificate.ts";
import { homeOf, type Outcome, procman } from "../support/cli.ts";
import { freePort } from "../support/free-ports.ts";
import { answered, hostsFolder, oddHost } from "../support/odd-host.ts";
import { cleanEnvironment, eventually, type ProcessConfig, processExit } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { type SshServer, sshServer } from "../support/ssh-server.ts";
import { isMissing } from "../support/system-programs.ts";
import { TmuxTerminal } from "../support/tmux.ts";

const sleeper = { id: "sleeper", cmd: "sleep 1000", autostart: true } as const;

/** A running procman with these processes. */
async function running(
  context: TestContext,
  processes: readonly ProcessConfig[],
  config: object = {},
): Promise<string> {
  const { folder } = homeOf(context, processes, config);
  const { code, err } = await procman(folder, ["run", "--detach"]);
  assert.equal(code, 0, err);
  return folder;
}

/** Runs commands from a folder without a configuration, as on the user's own machine. */
function fromHere(server: SshServer, here: string): (...args: readonly string[]) => Promise<Outcome> {
  return (...args) => procman(here, args, server.env);
}

function urlOf({ user, port }: SshServer, folder = ""): string {
  return `ssh://${user}@127.0.0.1:${port}${folder}`;
}

async function addTo(server: SshServer, here: string, name: string, folder: string): Promise<void> {
  const { code, err } = await fromHere(server, here)(
    "host",
    "add",
    name,
    urlOf(server, folder),
    "--program",
    server.program,
  );
  assert.equal(code, 0, err);
}

test("by ssh a command runs on the other machine: output, exit code, arguments with spaces and quotes", async (context) => {
  const server = await sshServer(context);
  const say = { id: "say", cmd: 'echo "it\'s here"', autostart: true } as const;
  const there = await running(context, [sleeper, say]);
  const { folder: here } = homeOf(context, []);
  const run = fromHere(server, here);
  await addTo(server, here, "web1", there);
  assert.match((await run("status", "--host", "web1")).out, /^ID .*\n *sleeper +running/m);
  assert.equal((await run("--host", "web1", "status", "say")).code, 3);
  assert.match((await run("logs", "--host=web1", "--search", "it's here")).out, /say .*\| it's here/);
  assert.match((await run("restart", "sleeper", "--host", "web1")).out, /^sleeper: running/);
  const unknown = await run("why", "sleper", "--host", "web1");
  assert.deepEqual([unknown.code, unknown.err.includes('Did you mean "sleeper"?')], [1, true], unknown.err);
  // Commands that read and write files of that machine.
  assert.equal((await run("append", "--host", "web1", "--id", "new", "--cmd", "sleep 900")).code, 0);
  assert.match(readFileSync(join(there, "procman.json"), "utf8"), /"new"/);
  assert.equal((await run("validate", "--host", "web1")).code, 0);
  assert.match((await run("terminate", "--host", "web1")).out, /^test has ended, with its 2 processes/);
  assert.equal((await run("status", "--host", "web1")).code, 69);
  assert.match((await run("run", "--detach", "--host", "web1")).out, /running/);
  assert.equal((await run("terminate", "--host", "web1")).code, 0);
});

test("host add finds the only procman of the other machine, or says what is missing there", async (context) => {
  const server = await sshServer(context);
  const { folder: here } = homeOf(context, []);
  const run = fromHere(server, here);
  const missing = await run("host", "add", "web1", urlOf(server), "--program", "/nowhere/procman");
  assert.equal(missing.code, 69);
  assert.match(
    missing.err,
    /Cannot reach web1: .* has no program "\/nowhere\/procman" in the PATH of a shell without login; name it: procman host add web1 ssh:/,
  );
  const closed = await run("host", "add", "web1", `ssh://${server.user}@127.0.0.1:${await freePort()}`);
  assert.match(closed.err, /Cannot reach web1: ssh: connect to host 127\.0\.0\.1 port \d+: Connection refused/);
  assert.match((await run("host", "list")).out, /There are no hosts yet/);
  const later = await run("host", "add", "later", `ssh://${server.user}@127.0.0.1:1`, "--no-check");
  assert.match(later.out, /^added later without connecting/);
  assert.equal(statSync(join(server.env.XDG_CONFIG_HOME ?? "", "procman/hosts.json")).mode & 0o777, 0o600);
  const wrong = await run("status", "--host", "latr");
  assert.deepEqual(
    [wrong.code, /Cannot find the host "latr": known: later\. Did you mean "later"\?/.test(wrong.err)],
    [64, true],
    wrong.err,
  );
  for (const [url, problem] of [
    ["ssh://me:secret@web1", "it has a password"],
    ["ssh://-oProxyCommand=touch@web1", "it has no name of a machine"],
    ["http://web1.example.org", "a token may not travel unencrypted"],
    ["ftp://web1", "it is none of ssh://USER@HOST, https://HOST and unix:PATH"],
    ["https://web1", "https needs --token-file FILE"],
  ] as const) {
    const refused = await run("host", "add", "web1", url);
    assert.deepEqual([refused.code, refused.err.includes(problem)], [64, true], refused.err);
  }
  assert.equal((await run("host", "remove", "later")).code, 0);
  assert.match((await run("host", "list")).out, /There are no hosts yet/);
});

test("by https a command asks the API there, with the token of a file; what needs files of that machine says so", async (context) => {
  const server = await sshServer(context);
  const port = await freePort();
  const { folder: here } = homeOf(context, []);
  const files = certificateIn(here, {});
  const there = await running(context, [sleeper], { api: { port, tls: files } });
  const run = fromHere(server, here);
  const token = await procman(there, ["token", "--consumer", "desk", "--scope", "read,control"]);
  writeFileSync(join(here, "desk.token"), token.out);
  const add = ["host", "add", "web3", `https://127.0.0.1:${port}`, "--token-file", "desk.token"] as const;
  const untrusted = await run(...add);
  assert.equal(untrusted.code, 69);
  assert.match(
    untrusted.err,
    /self-signed certificate; if that certificate is intended, name its authority: procman host add web3 .* --ca FILE/,
  );
  const added = await run(...add, "--ca", files.certificate);
  assert.match(added.out, /^added web3: "test", procman \d/, added.err);
  assert.match((await run("status", "--host", "web3")).out, /sleeper +running/);
  assert.match((await run("restart", "sleeper", "--host", "web3")).out, /^sleeper: running/);
  assert.match((await run("logs", "sleeper", "--host", "web3")).out, /sleeper .*started/);
  assert.match((await run("why", "sleeper", "--host", "web3")).out, /sleeper/);
  const files2 = await run("validate", "--host", "web3");
  assert.deepEqual(
    [files2.code, /web3 is reached by https, and "procman validate" needs files of that machine/.test(files2.err)],
    [64, true],
  );
  // The token has no scope "admin".
  const refused = await run("terminate", "--host", "web3");
  assert.equal(refused.code, 1);
  assert.match(refused.err, /scope/);
  writeFileSync(join(here, "desk.token"), (await procman(there, ["token", "--consumer", "boss"])).out);
  assert.match((await run("terminate", "--host", "web3")).out, /^test on web3 has ended, with its process/);
  assert.match(
    (await run("status", "--host", "web3")).err,
    /Cannot reach procman at https:\/\/127\.0\.0\.1:\d+, the host web3: .*ECONNREFUSED/,
  );
});

test("a group of hosts: all are asked at once, and one that is away is a row that says so", async (context) => {
  const count = 20;
  const web = { id: "web", type: "process", status: "running", blocked: false, restarts: 0, reason: "started" };
  const waiting: (() => void)[] = [];
  // Each answers when all have been asked.
  const hosts = await Promise.all(
    Array.from({ length: count }, () =>
      oddHost(context, (request, socket) => {
        waiting.push(() => answered(JSON.stringify([web]))(request, socket));
        if (waiting.length >= count) for (const answer of waiting) answer();
      }),
    ),
  );
  const { folder, env, add, run } = hostsFolder(context, {});
  const tokenFile = join(folder, "desk.token");
  const listed = hosts.map(({ port }, index) => [
    `web${index + 1}`,
    { url: `http://127.0.0.1:${port}`, tokenFile, groups: index === 0 ? ["web", "eu"] : ["web"] },
  ]);
  mkdirSync(join(env.XDG_CONFIG_HOME ?? "", "procman"), { recursive: true });
  writeFileSync(join(env.XDG_CONFIG_HOME ?? "", "procman/hosts.json"), JSON.stringify(Object.fromEntries(listed)));
  const gone = `http://127.0.0.1:${await freePort()}`;
  assert.equal((await add("gone", gone, "--token-file", tokenFile, "--group", "web,eu", "--no-check")).code, 0);
  const { code, out } = await run("status", "--json", "--host", "@web");
  const answers = JSON.parse(out) as { readonly host: string; readonly problem?: string }[];
  assert.deepEqual([code, answers.length], [69, count + 1]);
  assert.deepEqual(
    answers.filter(({ problem }) => problem !== undefined).map(({ host }) => host),
    ["gone"],
  );
  const some = await run("status", "--host", "@eu,web2,web1");
  assert.deepEqual(some.out.match(/^[a-z]+\d*(?= )/gm), ["web1", "gone", "web2"]);
  assert.match((await run("host", "list")).out, /^NAME +ADDRESS +GROUPS\nweb1 +http\S+ +web, eu\n/);
  assert.match(
    (await run("status", "--host", "@wbe")).err,
    /group of hosts "wbe": known: web, eu\. Did you mean "web"\?/,
  );
  assert.match((await run("send", "web", "x", "--host", "@web")).err, /Cannot run "procman send" on several hosts/);
});

test("a host is refused under a second name, however its address is written; by another token it may be another", async (context) => {
  const { folder, add, run } = hostsFolder(context, {});
  const token = ["--token-file", join(folder, "desk.token"), "--no-check"];
  for (const [first, second, ...options] of [
    ["ssh://deploy@web1.example.org/srv/shop", "ssh://deploy@WEB1.example.org:22/srv/shop/procman.jsonc", "--no-check"],
    ["https://web3.example.org", "https://WEB3.example.org:443/", ...token],
    ["unix:/srv/shop/a.sock", "unix:///srv/shop/a.sock", "--no-check"],
  ] as const) {
    assert.equal((await add("one", first, ...options)).code, 0);
    const { code, err } = await add("two", second, ...options);
    assert.equal(code, 64);
    assert.match(err, /Cannot add two: \S+ is in the list already, as one; .*"procman host remove one"/);
    assert.equal((await add("one", second, ...options)).code, 0, "its own address can be changed");
    assert.equal((await run("host", "remove", "one")).code, 0);
  }
  writeFileSync(join(folder, "boss.token"), "x", { mode: 0o600 });
  const [url, boss] = ["https://web3.example.org", join(folder, "boss.token")];
  assert.equal((await add("one", url, ...token)).code, 0);
  assert.equal((await add("boss", url, "--token-file", boss, "--no-check")).code, 0);
  assert.match(
    (await add("x", "ssh://web9", "--group", "@web", "--no-check")).err,
    /Cannot add "@web": a name has letters/,
  );
});

test("status shows several machines in one table; one that doesn't answer is a row that says so", async (context) => {
  const server = await sshServer(context);
  const { folder: here } = homeOf(context, []);
  const [one, two] = [
    await running(context, [sleeper], { releases: {} }),
    await running(context, [{ id: "mail", cmd: "sleep 1000", autostart: true }]),
  ];
  await addTo(server, here, "web1", one);
  await addTo(server, here, "web2", two);
  const run = fromHere(server, here);
  const both = await run("status", "--host", "web1,web2");
  assert.equal(both.code, 0, both.err);
  assert.match(both.out, /^HOST +ID +STATUS/);
  assert.match(both.out, /^web1 +sleeper +running/m);
  assert.match(both.out, /^web2 +mail +running/m);
  await run("host", "add", "gone", `ssh://${server.user}@127.0.0.1:${await freePort()}`, "--no-check");
  const withGone = await run("status", "--host", "all");
  assert.equal(withGone.code, 69);
  assert.match(withGone.out, /^web2 +mail +running/m);
  assert.match(
    withGone.out,
    /^gone +no answer .*Cannot reach gone: ssh: connect to host 127\.0\.0\.1 port \d+: Connection refused/m,
  );
  const answers = JSON.parse((await run("status", "mail", "--host", "web1,web2", "--json")).out) as {
    host: string;
    processes: object[];
  }[];
  assert.deepEqual(
    answers.map(({ host, processes }) => [host, processes.length]),
    [
      ["web1", 0],
      ["web2", 1],
    ],
  );
  assert.equal((await run("status", "mial", "--host", "web1,web2")).code, 1);
  const listed = await run("list", "--host", "web1,gone");
  assert.equal(listed.code, 69);
  assert.match(listed.out, /^HOST +NAME +STATUS +USER/);
  assert.match(listed.out, new RegExp(`^web1 +test +running .* ${one}/procman\\.json$`, "m"));
  assert.match(listed.out, /^gone +no answer .*Connection refused$/m);
  const histories = await run("history", "--host", "web1,web2");
  assert.equal(histories.code, 0, histories.err);
  assert.match(histories.out, /^HOST +ENTRY.*\nweb1 +1 .*active.*\nweb2 +1 .*active/);
  const releases = await run("releases", "--host", "web1,web2");
  assert.match(
    releases.out,
    /^HOST +RELEASE +STATE.*\nweb1 +none.*\nweb2 +no answer .* has no "releases", which say where/,
  );
  const asJson = JSON.parse((await run("releases", "--host", "web1,web1", "--json")).out);
  assert.deepEqual(asJson, [{ host: "web1", releases: [] }]);
  const several = await run("send", "web", "x", "--host", "web1,web2");
  assert.match(several.err, /Cannot run "procman send" on several hosts/);
  await server.stop();
  const lost = await run("status", "--host", "web1,web2");
  assert.deepEqual([lost.code, lost.out.match(/no answer/g)?.length], [69, 2]);
});

test("on a terminal the monitor of another machine is full screen, and leaves the terminal as it was", async (context) => {
  if (isMissing(context, "tmux")) return;
  const server = await sshServer(context);
  const there = await running(context, [sleeper]);
  const { folder: here } = homeOf(context, []);
  await addTo(server, here, "web1", there);
  const terminal = new TmuxTerminal(context, { columns: 80, rows: 24, cwd: here, env: server.env });
  terminal.type(`${process.execPath} ${BIN} monitor --host web1`);
  await terminal.see(/^procman test .* 1 running/);
  await terminal.see(/^sleeper +running/);
  terminal.keys("q");
  await terminal.prompt();
  terminal.type(`${process.execPath} ${BIN} logs -f --host web1`);
  await terminal.see(/sleeper .*started/);
  terminal.keys("C-c");
  await terminal.see(/^\^C.*bash\S*[$#]$/);
});

test("attach to a process of another machine: by ssh on this terminal, which ~. gives back; by https if the token may type", async (context) => {
  if (isMissing(context, "tmux")) return;
  const server = await sshServer(context);
  const port = await freePort();
  const { folder: here } = homeOf(context, []);
  const files = certificateIn(here, {});
  const echo = {
    id: "echo",
    cmd: "while read -r line; do echo got $line; done",
    stdin: true,
    autostart: true,
  } as const;
  const there = await running(context, [echo], { api: { port, tls: files } });
  const run = fromHere(server, here);
  await addTo(server, here, "by-ssh", there);
  const attach = (host: string): string => `clear; ${process.execPath} ${BIN} attach echo --host ${host}`;
  const terminal = new TmuxTerminal(context, { columns: 100, rows: 24, cwd: here, env: server.env });
  terminal.type(attach("by-ssh"));
  await terminal.see(/^echo>$/);
  terminal.type("over ssh");
  await terminal.see(/^got over ssh$/);
  terminal.keys("~", ".");
  await terminal.see(/^procman: left echo; the process goes on$/);
  await terminal.prompt();
  for (const [name, scope] of [
    ["reader", "read"],
    ["typist", "read,input"],
  ] as const) {
    const { out } = await procman(there, ["token", "--consumer", name, "--scope", scope]);
    writeFileSync(join(here, `${name}.token`), out, { mode: 0o600 });
    const by = [`https://127.0.0.1:${port}`, "--token-file", `${name}.token`, "--ca", files.certificate];
    assert.equal((await run("host", "add", name, ...by)).code, 0);
  }
  terminal.type(attach("reader"));
  await terminal.see(/^procman: .*scope "?`?input/);
  terminal.type(attach("typist"));
  await terminal.see(/^got over ssh$/);
  terminal.type("over https");
  await terminal.see(/^got over https$/);
});

test("by https the monitor prints the changes of another machine, also over a kill of its service", async (context) => {
  const server = await sshServer(context);
  const port = await freePort();
  const { folder: here } = homeOf(context, []);
  const files = certificateIn(here, {});
  const there = await running(context, [sleeper], { api: { port, tls: files } });
  writeFileSync(join(here, "desk.token"), (await procman(there, ["token", "--consumer", "desk"])).out);
  const run = fromHere(server, here);
  const add = [
    "host",
    "add",
    "web3",
    `https://127.0.0.1:${port}`,
    "--token-file",
    "desk.token",
    "--ca",
    files.certificate,
  ];
  assert.equal((await run(...add)).code, 0);
  const monitor = spawn(process.execPath, [BIN, "monitor", "--host", "web3"], {
    cwd: here,
    env: cleanEnvironment(server.env),
  });
  context.after(() => void monitor.kill());
  let said = "";
  monitor.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  await eventually(() => (said.includes("sleeper running") ? true : undefined));
  const endpoint = JSON.parse(readFileSync(join(there, ".procman/test/endpoint.json"), "utf8")) as {
    readonly pid: number;
  };
  process.kill(endpoint.pid, "SIGKILL");
  said = "";
  while (!said.includes("stopped")) {
    await run("stop", "sleeper", "--host", "web3");
    await run("start", "sleeper", "--host", "web3");
  }
});

test("exec on another machine: by ssh on this terminal and with its exit code, by https with input and outputs, if api.exec is true", async (context) => {
  const server = await sshServer(context);
  const port = await freePort();
  const { folder: here } = homeOf(context, []);
  const files = certificateIn(here, {});
  const web = { ...sleeper, id: "web", env: { WHO: "there" }, terminateTimeout: 1 } as const;
  const there = await running(context, [web], { api: { port, tls: files, exec: true } });
  const run = fromHere(server, here);
  await addTo(server, here, "by-ssh", there);
  writeFileSync(join(here, "boss.token"), (await procman(there, ["token", "--consumer", "boss"])).out, { mode: 0o600 });
  writeFileSync(
    join(here, "desk.token"),
    (await procman(there, ["token", "--consumer", "desk", "--scope", "read"])).out,
    { mode: 0o600 },
  );
  const add = async (name: string, token: string): Promise<void> => {
    const url = `https://127.0.0.1:${port}`;
    const { code, err } = await run("host", "add", name, url, "--token-file", token, "--ca", files.certificate);
    assert.equal(code, 0, err);
  };
  await add("by-https", "boss.token");
  await add("by-desk", "desk.token");
  for (const host of ["by-ssh", "by-https"]) {
    const said = await run(
      "exec",
      "--host",
      host,
      "web",
      "--",
      "sh",
      "-c",
      'echo "it\'s $WHO" --json; echo hm >&2; exit 7',
    );
    assert.deepEqual([said.code, said.out, said.err], [7, "it's there --json\n", "hm\n"], host);
    assert.equal((await run("exec", "--host", host, "web", "--", "nosuch")).code, 127, host);
    assert.equal((await run("exec", "--host", host, "web", "--", "sh", "-c", "kill -9 $$")).code, 137, host);
    const json = JSON.parse(
      (await run("exec", "--host", host, "--json", "web", "--", "sh", "-c", "echo a; exit 3")).out,
    );
    assert.deepEqual([json.code, json.stdout, json.stdoutCut], [3, "a\n", false], host);
    const child = spawn(
      process.execPath,
      [BIN, "exec", "--host", host, "web", "--", "sh", "-c", "echo $$; cat; sleep 1000"],
      {
        cwd: here,
        env: cleanEnvironment(server.env),
        stdio: ["pipe", "pipe", "inherit"],
      },
    );
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
    });
    child.stdin.write("over ");
    child.stdin.end("there\n");
    await eventually(() => out.includes("over there\n") || undefined);
    // By ssh, ssh is the client, which gets SIGTERM, too.
    child.kill(host === "by-ssh" ? "SIGTERM" : "SIGKILL");
    await processExit(Number(out.split("\n")[0]));
  }
  const refused = await run("exec", "--host", "by-desk", "web", "--", "true");
  assert.deepEqual([refused.code, /lacks the scope "admin"/.test(refused.err)], [1, true], refused.err);
});

test("exec by ssh is interactive", async (context) => {
  if (isMissing(context, "tmux")) return;
  const server = await sshServer(context);
  const there = await running(context, [{ ...sleeper, id: "web", env: { WHO: "there" } }]);
  const { folder: here } = homeOf(context, []);
  await addTo(server, here, "web1", there);
  const terminal = new TmuxTerminal(context, { columns: 100, rows: 30, cwd: here, env: server.env });
  terminal.type(`${process.execPath} ${BIN} exec --host web1 web -- bash --norc --noprofile`);
  terminal.type('PS1="in-$WHO> "');
  await terminal.see(/^in-there> *$/);
  terminal.type("sleep 1000");
  terminal.keys("C-c");
  terminal.type("echo still $?; exit 9");
  await terminal.see(/^still 130$/);
  await terminal.prompt();
  terminal.type("echo code $?");
  await terminal.see(/^code 9$/);
});
