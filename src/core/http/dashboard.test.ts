/** The dashboard's files and its sign-in, over HTTP. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { brotliDecompressSync } from "node:zlib";
import { compressed, dashboardFiles } from "../../../scripts/dashboard-files.mjs";
import { type ApiRig, startApi } from "../../../test/support/control-rig.ts";
import { verifyToken } from "../contract/token.ts";
import { DEFAULT_SCOPES, expiresIn, OWNER_SCOPES, SCOPES, type TokenScope } from "../contract/token-claims.ts";

type BuiltFiles = {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly manifest: { readonly assets: Readonly<Record<string, string>> };
};

const SCRIPT = "document.title = 1;\n".repeat(50);

async function startDashboard(
  context: TestContext,
): Promise<{ readonly api: ApiRig; readonly assets: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), "procman-dashboard-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const { files, manifest } = dashboardFiles('<script src="{{app.js}}"></script>', { "app.js": SCRIPT }) as BuiltFiles;
  for (const [name, bytes] of files) writeFileSync(join(folder, `${name}.br`), bytes);
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
  writeFileSync(join(folder, "secret.txt.br"), compressed("not listed") as Buffer);
  return { api: await startApi(context, {}, undefined, folder), assets: Object.keys(manifest.assets) };
}

test("the page needs no token, has a strict policy, and names its files by their content", async (context) => {
  const { api, assets } = await startDashboard(context);
  const page = await fetch(`${api.url}/`);
  assert.deepEqual(
    [page.status, page.headers.get("content-type"), page.headers.get("cache-control")],
    [200, "text/html; charset=utf-8", "no-store"],
  );
  const policy = page.headers.get("content-security-policy") ?? "";
  assert.match(
    policy,
    /^default-src 'none'; script-src 'self'; style-src 'self';.*frame-ancestors 'none'.*trusted-types 'none'$/,
  );
  assert.doesNotMatch(policy, /unsafe|http|\*/);
  assert.equal(page.headers.get("access-control-allow-origin"), null);
  const [name = ""] = assets;
  assert.match(name, /^app-[0-9a-f]{10}\.js$/);
  assert.equal(await page.text(), `<script src="assets/${name}"></script>`);
});

test("files are compressed and may be kept for ever; a client without Brotli gets them plain", async (context) => {
  const { api, assets } = await startDashboard(context);
  const path = `/assets/${assets[0]}`;
  const head = `GET ${path} HTTP/1.0\r\nHost: localhost\r\n`;
  for (const accepted of ["br", "gzip, deflate, br", "br;q=1.0, gzip", "BR"]) {
    const answer = await api.raw(`${head}Accept-Encoding: ${accepted}\r\n\r\n`);
    assert.match(answer, /content-encoding: br/i, accepted);
    assert.match(answer, /cache-control: public, max-age=31536000, immutable/i);
    const body = Buffer.from(answer.slice(answer.indexOf("\r\n\r\n") + 4), "latin1");
    assert.equal(brotliDecompressSync(body).toString(), SCRIPT);
  }
  for (const accepted of ["", "gzip", "br;q=0", "br;q=0.0, gzip", "brx"]) {
    const answer = await api.raw(`${head}Accept-Encoding: ${accepted}\r\n\r\n`);
    assert.doesNotMatch(answer, /content-encoding/i, accepted);
    assert.ok(answer.endsWith(SCRIPT), accepted);
  }
  const headers = await fetch(`${api.url}${path}`, { method: "HEAD" });
  assert.deepEqual([headers.status, await headers.text()], [200, ""]);
});

test("only files of the manifest are served, whatever a name looks like", async (context) => {
  const { api } = await startDashboard(context);
  for (const name of [
    "secret.txt",
    "manifest.json",
    "..%2Fmanifest.json",
    "%2e%2e%2f%2e%2e%2fpackage.json",
    "__proto__",
    "constructor",
    "x%00.js",
  ]) {
    const answer = await fetch(`${api.url}/assets/${name}`);
    assert.deepEqual([answer.status, ((await answer.json()) as { code: string }).code], [404, "path-unknown"], name);
  }
  assert.equal((await fetch(`${api.url}/assets/%E0%A4%A`)).status, 400);
  assert.equal((await fetch(`${api.url}/`, { method: "POST" })).status, 405);
  assert.equal((await fetch(`${api.url}/other`)).status, 401, "other paths say nothing without a token");
});

test("an installation without the files says so, and everything else works", async (context) => {
  const api = await startApi(context);
  const answer = await fetch(`${api.url}/`);
  assert.equal(answer.status, 404);
  assert.match(await answer.text(), /Cannot show the dashboard: its files are missing in/);
  assert.equal((await fetch(`${api.url}/health`)).status, 200);
});

test("pages of other sites get neither the page nor a token", async (context) => {
  const { api } = await startDashboard(context);
  const { code } = await api.client().dashboardCode();
  for (const path of ["/", "/dashboard/token"]) {
    const request = { headers: { origin: "https://evil.example", "content-type": "application/json" } };
    const answer = await fetch(
      `${api.url}${path}`,
      path === "/" ? request : { ...request, method: "POST", body: JSON.stringify({ code }) },
    );
    assert.equal(answer.status, 403);
  }
  assert.match(await api.raw("GET / HTTP/1.0\r\nHost: evil.example\r\n\r\n"), /^HTTP\/1\.1 403/);
});

async function exchange(
  api: ApiRig,
  body: unknown,
): Promise<{ readonly status: number; readonly answer: Record<string, string> }> {
  const request = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(`${api.url}/dashboard/token`, request);
  return { status: response.status, answer: (await response.json()) as Record<string, string> };
}

test("a code is exchanged once for a token with the scopes asked for; the exchange is logged, codes and tokens are not", async (context) => {
  const { api } = await startDashboard(context);
  const { code, expiresInSeconds } = await api.client(api.token({ user: "alice" })).dashboardCode({ scopes: ["read"] });
  assert.equal(expiresInSeconds, 30);
  const { status, answer } = await exchange(api, { code });
  assert.equal(status, 200);
  const { token = "" } = answer;
  assert.equal((await api.client(token).processes()).length, 3);
  await assert.rejects(api.client(token).act("web", "stop"), { code: "scope-missing" });
  const again = await exchange(api, { code });
  assert.deepEqual([again.status, again.answer.code], [401, "unauthorized"]);
  assert.match(again.answer.detail ?? "", /used before, or is older than 30 s; run "procman dashboard" again/);
  const lines = api.rig.auditLines;
  assert.ok(lines.includes('dashboard opened for "ci" (alice), with the scopes read'), lines.join("\n"));
  assert.ok(lines.some((line) => line.includes("a sign-in to the dashboard was refused")));
  assert.ok(!lines.some((line) => line.includes(code) || line.includes(token)));
});

test("a code needs the scope admin, and bad input of the exchange is refused", async (context) => {
  const { api } = await startDashboard(context);
  await assert.rejects(api.client(api.token({ scopes: ["read", "control"] })).dashboardCode(), {
    code: "scope-missing",
  });
  const limits = { processes: ["web"], groups: [] };
  await assert.rejects(api.client(api.token({ limits })).dashboardCode(), { code: "scope-missing" });
  await assert.rejects(api.client().dashboardCode({ scopes: [] }), { code: "input-invalid" });
  for (const body of [{}, { code: "" }, { code: 1 }, { code: "x".repeat(101) }, { code: "x", more: 1 }, []])
    assert.equal((await exchange(api, body)).status, 400, JSON.stringify(body));
  assert.equal((await exchange(api, { code: "x".repeat(2_000) })).status, 413);
});

test("a page may type into processes if the token that asks for its code may; all other scopes are there anyway", async (context) => {
  const { api } = await startDashboard(context);
  const scopesFor = async (...scopes: readonly TokenScope[]): Promise<readonly TokenScope[]> => {
    const { code } = await api.client(api.token({ scopes })).dashboardCode();
    const { answer } = await exchange(api, { code });
    return (await verifyToken(answer.token ?? "", "test", api.secrets.now)).scopes;
  };
  assert.deepEqual(await scopesFor(...OWNER_SCOPES), SCOPES);
  assert.deepEqual(await scopesFor("admin"), DEFAULT_SCOPES);
  await assert.rejects(api.client().dashboardCode({ scopes: ["read", "input"] }), { code: "scope-missing" });
});

test("a token makes none that outlives its expiry, its revocation or a new secret; the log names who has asked for it", async (context) => {
  const { api } = await startDashboard(context);
  const tokenOf = async (asker: string): Promise<string> =>
    (await exchange(api, { code: (await api.client(asker).dashboardCode()).code })).answer.token ?? "";
  const expires = expiresIn(60);
  const child = await tokenOf(await tokenOf(api.token({ consumer: "thief", expires })));
  const claims = await verifyToken(child, "test", api.secrets.now);
  assert.deepEqual([claims.consumer, claims.by, claims.expires], ["dashboard", "thief", expires]);
  const unlimited = await verifyToken(await tokenOf(api.token()), "test", api.secrets.now);
  assert.ok(
    Math.abs((unlimited.expires ?? 0) - expiresIn(43_200)) <= 2,
    "no token of the dashboard is valid for more than 12 hours",
  );
  await api.client(child).act("web", "restart");
  assert.ok(
    api.rig.auditLines.some((line) => line.includes('"dashboard of thief"')),
    api.rig.auditLines.join("\n"),
  );
  const { code } = await api.client(child).dashboardCode();
  api.revoked.add("thief");
  await assert.rejects(api.client(child).processes(), { code: "unauthorized" });
  assert.equal((await exchange(api, { code })).status, 401);
  const { code: another } = await api.client().dashboardCode();
  api.secrets.now = Buffer.alloc(32, 9);
  assert.match((await exchange(api, { code: another })).answer.detail ?? "", /secret that was replaced/);
});

test("a token of the dashboard is revoked like any other, by its consumer", async (context) => {
  const { api } = await startDashboard(context);
  const { answer } = await exchange(api, { code: (await api.client().dashboardCode()).code });
  api.revoked.add("dashboard");
  await assert.rejects(api.client(answer.token ?? "").processes(), { code: "unauthorized" });
});
