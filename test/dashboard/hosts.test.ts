/** `procman dashboard --host`: other machines, by a real sshd and by https, in a real Chromium. */
import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Endpoint } from "../../src/core/contract/records.ts";
import { certificateIn } from "../support/certificate.ts";
import { procman } from "../support/cli.ts";
import { freePort } from "../support/free-ports.ts";
import { answered, hostsFolder, oddHost, openedGateway } from "../support/odd-host.ts";
import { childrenOf } from "../support/proc-files.ts";
import { eventually, processExit } from "../support/procman-process.ts";
import { sshServer } from "../support/ssh-server.ts";
import { isMissing } from "../support/system-programs.ts";
import { closeBrowser, DashboardRig, go } from "./dashboard-rig.ts";

after(closeBrowser);

test("several machines in one page: by ssh without a port, by https, and one that doesn't answer", async (context) => {
  if (isMissing(context, "chromium")) return;
  const server = await sshServer(context);
  // Without a port: the connection of ssh leads to the Unix socket.
  const first = await DashboardRig.start(context, [{ id: "db", cmd: "sleep 1000", autostart: true }], { api: false });
  const port = await freePort();
  const files = certificateIn(first.folder, {});
  const second = await DashboardRig.start(context, [{ id: "mail", cmd: "exit 3", autostart: true, restart: "never" }], {
    name: "post",
    api: { port, tls: files },
  });
  const token = join(second.folder, "desk.token");
  writeFileSync(token, (await second.command(["token", "--consumer", "desk", "--scope", "read,control"])).out);
  const gone = `ssh://${server.user}@127.0.0.1:${await freePort()}`;
  for (const args of [
    ["web1", `ssh://${server.user}@127.0.0.1:${server.port}${first.folder}`, "--program", server.program],
    ["web2", `https://127.0.0.1:${port}`, "--token-file", token, "--ca", files.certificate],
    ["gone", gone, "--no-check"],
  ]) {
    const { code, err } = await procman(first.folder, ["host", "add", ...args], server.env);
    assert.equal(code, 0, err);
  }
  const { link } = await openedGateway(context, server.env, "web1,web2,gone");
  const page = await first.page();
  await page.goto(link);
  await page.locator(".connection.live").waitFor();
  await page.locator('tr[data-id="db"] .badge').filter({ hasText: "running" }).waitFor();
  assert.ok(!page.url().includes("code="));
  await go(page, "Hosts");
  const row = (name: string) =>
    page.getByRole("row").filter({ has: page.getByRole("rowheader", { name, exact: true }) });
  await row("web1")
    .filter({ hasText: /shop.*1all well/ })
    .waitFor();
  await row("web2")
    .filter({ hasText: /post.*1 needs attention/ })
    .waitFor();
  await row("gone").filter({ hasText: "no answer" }).waitFor();
  assert.deepEqual(await first.axe(page), []);
  await page.getByLabel("Host", { exact: true }).selectOption("web2");
  await page.waitForURL((url) => url.origin !== new URL(link).origin && url.hash === "#/hosts");
  await go(page, "Overview");
  await page.locator('tr[data-id="mail"] .badge').filter({ hasText: "errored" }).waitFor();
  // The rights of the token in the file: control, but not admin.
  await page.getByRole("button", { name: /Start mail/ }).waitFor();
  assert.equal(await page.getByRole("link", { name: "Changes", exact: true }).count(), 0);
  await page.reload();
  await page.locator(".connection.live").waitFor();
  await page.getByLabel("Host", { exact: true }).selectOption("web1");
  await page.locator('tr[data-id="db"] .badge').filter({ hasText: "running" }).waitFor();
  assert.deepEqual(first.faults, []);
});

test("the gateway answers no other site and no second use of a code; a lost connection is made again", async (context) => {
  if (isMissing(context, "chromium")) return;
  const server = await sshServer(context);
  const rig = await DashboardRig.start(context, [{ id: "db", cmd: "sleep 1000", autostart: true }]);
  const add = [
    "host",
    "add",
    "web1",
    `ssh://${server.user}@127.0.0.1:${server.port}${rig.folder}`,
    "--program",
    server.program,
  ];
  assert.equal((await procman(rig.folder, add, server.env)).code, 0);
  const { link, command } = await openedGateway(context, server.env, "web1");
  const [url = "", code = ""] = link.split("#code=");
  const post = (headers: Record<string, string> = {}): Promise<Response> =>
    fetch(`${url}dashboard/token`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ code }),
    });
  assert.equal((await post({ origin: "https://evil.example" })).status, 404);
  assert.equal((await fetch(`${url}processes`)).status, 401);
  const reply = await post();
  assert.equal(reply.status, 200);
  assert.equal((await post()).status, 401);
  const { token } = (await reply.json()) as { readonly token: string };
  const processes = (): Promise<Response> =>
    fetch(`${url}processes`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await processes()).status, 200);
  const [tunnel = 0] = childrenOf(command.pid ?? 0);
  process.kill(tunnel, "SIGKILL");
  await processExit(tunnel);
  while ((await processes()).status !== 200) await new Promise((resolve) => setTimeout(resolve, 100));
  await server.stop();
  const answer = async (): Promise<string> => `${(await processes()).status}`;
  while ((await answer()) !== "502") await new Promise((resolve) => setTimeout(resolve, 100));
});

test("a machine that sends scripts shows none, and has neither address nor token of another one", async (context) => {
  if (isMissing(context, "chromium")) return;
  const rig = await DashboardRig.start(context, [{ id: "db", cmd: "sleep 1000", autostart: true }]);
  const script = "<script>document.title = 'evil'</script>";
  const evil = await oddHost(context, answered(script, "HTTP/1.1 200 OK\r\nContent-Type: text/html"));
  const { env, folder, add, addAll } = hostsFolder(context, { evil: evil.port });
  await addAll();
  const endpoint = join(rig.procman.stateDir, "endpoint.json");
  await eventually(() => existsSync(endpoint) || undefined);
  const { port } = JSON.parse(readFileSync(endpoint, "utf8")) as Endpoint;
  writeFileSync(join(folder, "good.token"), (await rig.command(["token", "--consumer", "desk"])).out, { mode: 0o600 });
  assert.equal((await add("good", `http://127.0.0.1:${port}`, "--token-file", join(folder, "good.token"))).code, 0);
  const { link } = await openedGateway(context, env, "evil,good");
  assert.equal(link.match(/code=/g)?.length, 1, "an address has the code of one machine");
  const page = await rig.page();
  await page.goto(link);
  await page.getByLabel("Host", { exact: true }).selectOption("good");
  await page.locator('tr[data-id="db"] .badge').filter({ hasText: "running" }).waitFor();
  const good = new URL(page.url());
  assert.notEqual(good.origin, new URL(link).origin);
  assert.match(String(await page.evaluate("JSON.stringify(sessionStorage)")), /procman-token/);
  const [url = ""] = link.split("#");
  for (const path of ["", "processes", "health", "assets/x.js"]) {
    await page.goto(`${url}${path}`);
    assert.notEqual(await page.title(), "evil", path);
    const stored = String(await page.evaluate("JSON.stringify(sessionStorage)").catch(() => "{}"));
    const token = readFileSync(join(folder, "good.token"), "utf8").trim();
    assert.ok(!stored.includes(token), `the token of good is in the storage of evil: ${path}`);
    const read = `fetch(${JSON.stringify(`${good.origin}${good.pathname}processes`)}).then((reply) => reply.text(), () => "refused")`;
    assert.equal(await page.evaluate(read).catch(() => "refused"), "refused", path);
  }
});
