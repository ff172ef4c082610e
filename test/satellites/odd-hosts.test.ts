/** Other machines that answer what they like: one odd answer is a line about that machine, and nothing of it reaches terminal or browser raw. */
import assert from "node:assert/strict";
import { chmodSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { answered, endless, hostsFolder, type OddHost, oddHost, oddSsh, openedGateway } from "../support/odd-host.ts";
import { BIN } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { TmuxTerminal } from "../support/tmux.ts";

const CONTROLS = /[\0-\x08\x0b-\x1f\x7f-\x9f]/;
const RECORD = { id: "web", type: "process", status: "running", blocked: false, restarts: 0, reason: "started" };
const ESCAPES = "\u001b]0;OWNED\u0007\u001b[2J\u009b2J";

/** A gateway to one odd machine: the address of its page, and raw requests. */
async function gatewayTo(context: TestContext, host: OddHost) {
  const { env, addAll } = hostsFolder(context, { evil: host.port });
  await addAll();
  const { link, command, said } = await openedGateway(context, env, "evil");
  const url = link.split("#")[0] ?? "";
  const { port, pathname } = new URL(url);
  const raw = (text: string): Promise<string> =>
    new Promise((resolve) => {
      let got = "";
      const socket = connect(Number(port), "127.0.0.1", () => socket.write(text));
      socket.setEncoding("latin1").on("data", (part: string) => {
        got += part;
      });
      socket.on("error", () => undefined).once("close", () => resolve(got));
    });
  const get = (path: string): Promise<string> =>
    raw(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: close\r\n\r\n`);
  return { url, pathname, command, said, raw, get };
}

test("the page and its files are those of this package, whatever the other machine has there", async (context) => {
  const host = await oddHost(
    context,
    answered("<script>evil()</script>", "HTTP/1.1 200 OK\r\nContent-Type: text/html"),
  );
  const { url, said } = await gatewayTo(context, host);
  const page = await fetch(url);
  assert.match(
    page.headers.get("content-security-policy") ?? "",
    /^default-src 'none'; script-src 'self'.*trusted-types 'none'$/,
  );
  assert.deepEqual(
    [page.headers.get("x-content-type-options"), page.headers.get("x-frame-options")],
    ["nosniff", "DENY"],
  );
  const [, script = ""] = /src="(assets\/app-[^"]+)"/.exec(await page.text()) ?? [];
  const asset = await fetch(`${url}${script}`);
  assert.deepEqual([asset.status, asset.headers.get("x-content-type-options")], [200, "nosniff"]);
  assert.deepEqual(host.requests, []);
  const processes = await fetch(`${url}processes`);
  assert.deepEqual([processes.status, processes.headers.get("content-type")], [502, "application/problem+json"]);
  assert.doesNotMatch(await processes.text(), /evil\(\)/);
  assert.doesNotMatch(said(), CONTROLS);
});

test("of an answer the type and a few headers are passed on, and the policy forbids it to do anything", async (context) => {
  const head = [
    "HTTP/1.1 200 OK",
    "Content-Type: application/json; charset=x",
    ...[
      "Set-Cookie: a=b",
      "Clear-Site-Data: *",
      "Service-Worker-Allowed: /",
      "X-Other: 1",
      "Refresh: 0;url=//evil",
      "Retry-After: 7",
    ],
    ...["Access-Control-Allow-Origin: *", 'Link: </evil.css>; rel=preload, </logs?cursor=1-2%22>; rel="next"'],
    "Content-Security-Policy: default-src *",
  ].join("\r\n");
  const host = await oddHost(context, answered("[]", head));
  const { url } = await gatewayTo(context, host);
  const reply = await fetch(`${url}logs?limit=5`, {
    headers: { authorization: "Bearer abc", cookie: "c=d", "x-own": "1" },
  });
  const names = [...reply.headers.keys()].filter(
    (name) => !["date", "connection", "keep-alive", "transfer-encoding"].includes(name),
  );
  assert.deepEqual(names.sort(), [
    ...[
      "cache-control",
      "content-security-policy",
      "content-type",
      "cross-origin-resource-policy",
      "link",
      "referrer-policy",
    ],
    ...["retry-after", "x-content-type-options", "x-frame-options"],
  ]);
  assert.match(reply.headers.get("content-security-policy") ?? "", /^default-src 'none';.*; sandbox$/);
  assert.deepEqual(
    ["content-type", "link", "retry-after", "cache-control"].map((name) => reply.headers.get(name)),
    ["application/json", '</logs?cursor=1-2%22>; rel="next"', "7", "no-store"],
  );
  assert.equal(await reply.text(), "[]");
  const [request = ""] = host.requests;
  assert.match(request, /^GET \/logs\?limit=5 HTTP\/1\.0\r\n[\s\S]*authorization: Bearer abc/);
  assert.doesNotMatch(request, /cookie|x-own|referer/i);
});

test("without the secret of the address, and for all that is not a route, nothing reaches the other machine", async (context) => {
  const host = await oddHost(context, answered("{}"));
  const { url, pathname, get, raw } = await gatewayTo(context, host);
  assert.match(pathname, /^\/[\w-]{32}\/$/);
  for (const path of [
    "/",
    "/processes",
    "/evil/processes",
    pathname.slice(0, -1),
    `${pathname.slice(0, -2)}/processes`,
  ])
    assert.match(await get(path), /^HTTP\/1\.1 404 [\s\S]*nosniff/i, path);
  for (const path of [
    "../../x",
    "processes/../../x",
    "processes/..",
    "processes/%2e%2e/incidents",
    "processes/../incidents",
    "admin/secret",
  ])
    assert.match(await get(`${pathname}${path}`), /^HTTP\/1\.1 404 /, path);
  for (const path of [
    "processes/a%2fb",
    "processes/..%2f..%2fx/incidents",
    "processes/%00",
    "//evil.example/processes",
  ])
    assert.match(await get(`${pathname}${path}`), /^HTTP\/1\.1 404 /, path);
  assert.equal((await fetch(`${url}processes`, { method: "DELETE" })).status, 405);
  assert.equal((await fetch(`${url}processes`, { headers: { origin: "https://evil.example" } })).status, 404);
  assert.match(
    await raw(`GET ${pathname}processes HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n`),
    /^HTTP\/1\.1 404 /,
  );
  assert.deepEqual(host.requests, []);
});

test("bodies and connections are limited", async (context) => {
  const host = await oddHost(context, answered("{}"));
  const { url } = await gatewayTo(context, host);
  const headers = { "content-type": "application/json" };
  for (const path of ["dashboard/token", "log", "terminate", "processes/web/scale"]) {
    const reply = await fetch(`${url}${path}`, { method: "POST", headers, body: "x".repeat(2_000_000) }).catch(
      () => undefined,
    );
    assert.ok(reply === undefined || reply.status === 413, `${path}: ${reply?.status}`);
  }
  const { port } = new URL(url);
  const silent = Array.from({ length: 300 }, () => connect(Number(port), "127.0.0.1").on("error", () => undefined));
  context.after(() => {
    for (const socket of silent) socket.destroy();
  });
  assert.equal((await fetch(url)).status, 200);
  assert.deepEqual(host.requests, []);
});

test("an odd answer of any kind is a refusal, and the command and its page live on", async (context) => {
  const host = await oddHost(context, answered("{}"));
  const { url, command, said } = await gatewayTo(context, host);
  const heads = [
    "HTTP/1.1 099 Odd",
    "HTTP/1.1 999 Odd",
    "HTTP/1.1 101 Up\r\nUpgrade: x\r\nConnection: upgrade",
    "ICY 200 OK",
    "HTTP/1.1 200 OK",
  ];
  for (const head of heads) {
    host.answer = answered("x", head);
    assert.equal((await fetch(`${url}processes`)).status, 502, head);
  }
  host.answer = (_request, socket) => void socket.destroy();
  assert.equal((await fetch(`${url}state`)).status, 502);
  host.answer = endless;
  await assert.rejects((await fetch(`${url}processes`)).arrayBuffer());
  for (const body of ["{}", "null", "[null]", "<b>"]) {
    host.answer = answered(body);
    const summary = (await (await fetch(`${url}hosts?host=evil`)).json()) as {
      readonly host: string;
      readonly problem?: string;
    };
    assert.match(summary.problem ?? "", /^Cannot understand the answer: it/, body);
  }
  assert.equal((await fetch(`${url}hosts?host=other`)).status, 404);
  assert.deepEqual([(await fetch(url)).status, command.exitCode], [200, null]);
  assert.doesNotMatch(said(), /bug/);
});

test("status of several machines shows the others beside odd answers, endless ones and none", async (context) => {
  const good = await oddHost(context, answered(JSON.stringify([RECORD])));
  const evil = await oddHost(context, answered("{}"));
  const { run, addAll } = hostsFolder(context, { good: good.port, evil: evil.port });
  await addAll();
  const odd = [{}, null, [null], [{ id: "x" }], "text", [{ ...RECORD, instances: [null] }], [{ ...RECORD, id: 7 }]];
  const answers: readonly OddHost["answer"][] = [
    ...odd.map((value) => answered(JSON.stringify(value))),
    answered("<html>", "HTTP/1.1 200 OK"),
    answered("<html>", `HTTP/1.1 502 ${ESCAPES}`),
    answered(JSON.stringify({ code: ESCAPES, detail: ESCAPES }), "HTTP/1.1 400 No"),
    endless,
    (_request, socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const timer = setInterval(() => socket.write(" "), 1_000);
      socket.once("close", () => clearInterval(timer));
    },
  ];
  await Promise.all(
    answers.map(async (answer, index) => {
      const one = await oddHost(context, answer);
      const { run: runOne, addAll: add } = hostsFolder(context, { good: good.port, evil: one.port });
      await add();
      const { code, out, err } = await runOne("status", "--host", "good,evil");
      assert.equal(code, 69, `${index}: ${err}`);
      assert.match(out, /^good +web +running/m, `${index}`);
      assert.match(out, /^evil +no answer +\S/m, `${index}`);
      assert.doesNotMatch(out + err, CONTROLS);
      assert.doesNotMatch(out + err, /bug/);
    }),
  );
  for (const args of [
    ["why", "web"],
    ["show", "web"],
    ["logs"],
    ["next"],
    ["status"],
    ["restart", "web"],
    ["plan"],
    ["flush"],
  ]) {
    const { code, err } = await run(...args, "--host", "evil");
    assert.notEqual(code, 0, args.join(" "));
    assert.doesNotMatch(err, /bug|at \w+ \(/, `${args.join(" ")}: ${err}`);
  }
});

test("a machine whose ssh hangs, or says something without end, is a line as well", async (context) => {
  const good = await oddHost(context, answered(JSON.stringify([RECORD])));
  const { folder, env, run, addAll } = hostsFolder(context, { good: good.port });
  await addAll();
  const program = join(folder, "odd-ssh.sh");
  for (const [script, why] of [
    ["sleep 30", "no answer within 20 s"],
    ["yes | cat", "its answer has more than"],
  ]) {
    writeFileSync(program, `#!/bin/sh\n${script}\ntrue\n`, { mode: 0o755 });
    env.PROCMAN_SSH = program;
    const { code, out } = await run("status", "--host", "good,ssh://web1");
    assert.equal(code, 69);
    assert.match(out, /^good +web +running/m);
    assert.ok(out.includes(`Cannot ask ssh://web1: ${why}`), out);
  }
});

test("a token file that others may read is named once, with the remedy", async (context) => {
  const host = await oddHost(context, answered(JSON.stringify([RECORD])));
  const { folder, run, addAll } = hostsFolder(context, { good: host.port });
  await addAll();
  const token = join(folder, "desk.token");
  assert.doesNotMatch((await run("status", "--host", "good")).err, /chmod/);
  chmodSync(token, 0o640);
  const { code, err } = await run("status", "web", "--host", "good");
  assert.deepEqual(
    [code, err],
    [0, `procman: other users may read or change the token in ${token}: chmod 600 ${token}\n`],
  );
});

test("on a terminal a command by ssh can't send control sequences", async (context) => {
  if (isMissing(context, "tmux")) return;
  const { folder, env } = hostsFolder(context, {});
  const ssh = oddSsh(folder, `${ESCAPES} \u001b[31mred\u001b[0m\n`, `${ESCAPES} said\n`);
  const terminal = new TmuxTerminal(context, { columns: 80, rows: 24, cwd: folder, env: { ...env, PROCMAN_SSH: ssh } });
  terminal.type(`${process.execPath} ${BIN} why web --host ssh://web1`);
  await terminal.see(/^\\x1b]0;OWNED\\x07\\x1b\[2J\\x9b2J red/);
  await terminal.see(/^\\x1b]0;OWNED\\x07\\x1b\[2J\\x9b2J said/);
});

test("what a machine says by ssh is checked and shown without control characters", async (context) => {
  const { folder, env, add, run } = hostsFolder(context, {});
  const one = { status: "running", stateDir: "/srv/a/.procman/a", user: "ann" };
  const found = [{ ...one, name: ESCAPES, configFile: `/srv/${ESCAPES}` }];
  const cases: readonly (readonly [string, string])[] = [
    [JSON.stringify(found), ""],
    [JSON.stringify([{ ...one, name: ESCAPES, configFile: "/srv/a" }]), ""],
    [
      JSON.stringify([
        { ...one, name: ESCAPES },
        { ...one, name: "b", configFile: "/srv/b" },
      ]),
      "",
    ],
    ["{}", ""],
    ["null", ""],
    ["[null]", ""],
    [`no JSON ${ESCAPES}`, `procman: ${ESCAPES}`],
    [JSON.stringify({ code: `"><script>`, socket: "/run/s" }), ""],
    [JSON.stringify({ code: `${"a".repeat(43)}${ESCAPES}`, socket: "/run/s" }), ""],
    [JSON.stringify({ code: "a".repeat(43), socket: `/run/${ESCAPES}` }), ""],
    [JSON.stringify({ code: "a".repeat(43), socket: "relative" }), ""],
  ];
  for (const [out, err] of cases) {
    env.PROCMAN_SSH = oddSsh(folder, out, err);
    const outcomes = [
      await add("web1", "ssh://web1"),
      await run("status", "--host", "ssh://web1,ssh://web2"),
      await run("dashboard", "--no-open", "--host", "ssh://web1"),
    ];
    for (const outcome of outcomes) {
      assert.doesNotMatch(outcome.out + outcome.err, CONTROLS, out);
      assert.doesNotMatch(outcome.err, /bug/, out);
    }
    assert.equal(outcomes[2]?.code, 69, out);
  }
  assert.match((await run("host", "list")).out, /web1/);
});
