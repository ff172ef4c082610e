/** Spec 2.5: a remote plugin, over https from a server of this machine with a private CA. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { plugin, setup, withPlugins } from "../support/plugin-rig.ts";
import { Procman } from "../support/procman-process.ts";

const MODULE = setup(`log.info("comes from afar: " + (typeof options.x))`);
const INTEGRITY = `sha256-${createHash("sha256").update(MODULE).digest("base64")}`;
const WRONG = `sha256-${createHash("sha256").update("other").digest("base64")}`;

let [folder, url, env, requests] = ["", "", {} as NodeJS.ProcessEnv, 0];
let server: Server;
let isUp = false;

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "procman-ca-"));
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", certificate, ...name],
    {
      stdio: "ignore",
    },
  );
  server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (request, response) => {
    requests += 1;
    if (request.url === "/plain") response.writeHead(302, { location: "http://127.0.0.1:9/x.mjs" }).end();
    else if (request.url === "/moved") response.writeHead(302, { location: "/x@1.0.0.mjs" }).end();
    else if (request.url === "/x@1.0.0.mjs") response.end(MODULE);
    else if (request.url === "/page.mjs")
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end("<p>Log in");
    else if (request.url === "/late.mjs") response.end(isUp ? MODULE : "<p>Not up yet");
    else response.writeHead(404).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  env = { NODE_EXTRA_CA_CERTS: certificate };
});

after(() => {
  server.closeAllConnections();
  server.close();
  rmSync(folder, { recursive: true });
});

test("2.5 a remote module with a digest is fetched once, stored, and needs no network after that", async (context) => {
  const procman = withPlugins(
    context,
    {},
    { plugins: [{ url: `${url}/x@1.0.0.mjs`, integrity: INTEGRITY, options: { x: 1 } }], env },
  );
  await procman.line(/plugin x: fetched https/);
  await procman.line(/plugin x: comes from afar: number/);
  await procman.stop();
  const count = requests;
  const [kept = ""] = readdirSync(join(procman.stateDir, "cache/plugins"));
  const again = new Procman(procman.folder, { env });
  await again.line(/plugin x: comes from afar/);
  assert.equal(requests, count, "no request was sent");
  await again.stop();
  const damage = (): void =>
    writeFileSync(join(procman.stateDir, "cache/plugins", kept), "throw new Error('somebody has changed it')");
  damage();
  const third = new Procman(procman.folder, { env });
  await third.line(/plugin x: comes from afar/);
  assert.equal(requests, count + 1, "the stored module is checked against the digest, too");
  await third.stop();
  damage();
  const fourth = new Procman(procman.folder);
  await fourth.line(/plugin x: .*can't be fetched: .*; the cached copy \(.*\.mjs\) has been changed; retrying in/);
  await fourth.stop();
});

test("2.5 without a digest there is a warning, and the log names the digest to configure", async (context) => {
  const procman = withPlugins(context, {}, { plugins: [{ url: `${url}/moved` }], env });
  await procman.line(/procman\.json:1:\d+: Found "https:.*" without "integrity"/);
  const line = await procman.line(/plugin moved: fetched https/);
  assert.ok(line.includes(`write "integrity": "${INTEGRITY}" beside its url`));
  await procman.line(/comes from afar/);
});

test("2.5 a wrong digest, an unknown certificate, a wrong address, a redirect to plain http and an absent server each have a remedy", async (context) => {
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  const nobody = `https://127.0.0.1:${(gone.address() as AddressInfo).port}/nobody.mjs`;
  gone.close();
  const procman = withPlugins(
    context,
    {},
    {
      plugins: [
        { url: `${url}/x@1.0.0.mjs`, integrity: WRONG },
        ...[`${url}/nowhere`, `${url}/plain`, nobody].map((each) => ({ url: each, integrity: INTEGRITY })),
      ],
      env,
    },
  );
  await procman.line(/web +\| started/);
  const problem = async (id: string): Promise<string> =>
    (await plugin(procman, id, (record) => record.problem !== undefined)).problem ?? "";
  assert.match(await problem("x"), /has the digest sha256-.*, not sha256-.*check the module, then correct "integrity"/);
  assert.match(await problem("nowhere"), /was answered with 404; correct "url"/);
  assert.match(await problem("plain"), /redirects to http:\/\/127\.0\.0\.1:9, which is not https/);
  assert.match(await problem("nobody"), /can't be fetched: .*ECONNREFUSED.*it will be retried/);
  const untrusting = withPlugins(context, {}, { plugins: [{ url: `${url}/x@1.0.0.mjs`, integrity: INTEGRITY }] });
  const found = await plugin(untrusting, "x", (record) => record.problem !== undefined);
  assert.match(
    found.problem ?? "",
    /its certificate is not trusted \(.*\); for a CA of your own start procman with NODE_EXTRA_CA_CERTS=FILE/,
  );
});

test("a wrong answer is never kept as the module: it is fetched again", async (context) => {
  const procman = withPlugins(context, {}, { plugins: [{ url: `${url}/page.mjs` }, { url: `${url}/late.mjs` }], env });
  await procman.line(
    /plugin page: .*was answered with a page \(text\/html; charset=utf-8\), not with a module; correct "url"/,
  );
  await procman.line(/plugin late: .*SyntaxError.*; it is fetched again from https:.*late\.mjs at the next start/);
  isUp = true;
  await procman.line(/plugin late: comes from afar/);
});
