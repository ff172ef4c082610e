/** Rollouts over several hosts on the page of hosts, in a real Chromium. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { HostSummary } from "../../src/core/contract/host-links.ts";
import type { RolloutRecord } from "../../src/core/contract/rollout-record.ts";
import { freeRange } from "../support/free-ports.ts";
import { hostsFolder, openedGateway } from "../support/odd-host.ts";
import { cleanEnvironment, processExit } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { closeBrowser, DashboardRig, go } from "./dashboard-rig.ts";

after(closeBrowser);

const HOSTS = ["a", "b"] as const;
const CONTINUES = /procman rollout continue ([0-9a-f-]+?)Copy/;

test("a rollout is shown above the hosts while it is under way, after a reload, and when it is over", async (context) => {
  if (isMissing(context, "chromium")) return;
  const here = hostsFolder(context, {});
  const ports = await freeRange(HOSTS.length);
  const gate = join(here.folder, "is-ready");
  writeFileSync(gate, "");
  const web = { id: "web", cmd: "sleep 1000", autostart: true, ready: { exec: `test -e ${gate}`, timeout: 600 } };
  const rigs = await Promise.all(
    HOSTS.map((name, index) => DashboardRig.start(context, [web], { name, api: { port: ports + index } })),
  );
  for (const [index, rig] of rigs.entries()) {
    const name = HOSTS[index] ?? "";
    const token = join(here.folder, `${name}.token`);
    writeFileSync(token, (await rig.command(["token", "--consumer", "ops"])).out, { mode: 0o600 });
    const added = await here.add(name, `http://127.0.0.1:${ports + index}`, "--token-file", token, "--group", "web");
    assert.equal(added.code, 0, added.err);
  }
  const [rig] = rigs as [DashboardRig];
  rmSync(gate);
  const client = spawn(process.execPath, [BIN, "restart", "web", "--host", "@web"], {
    cwd: here.folder,
    env: cleanEnvironment(here.env),
    stdio: "ignore",
  });
  context.after(() => client.kill("SIGKILL"));
  const { link } = await openedGateway(context, here.env, "@web");
  const page = await rig.page();
  await page.goto(link);
  await page.locator(".connection.live").waitFor();
  await go(page, "Hosts");
  const band = page.getByRole("region", { name: "restart web on 2 hosts" });
  const part = (name: string) => band.getByRole("listitem").filter({ has: page.getByText(name, { exact: true }) });
  await part("a").filter({ hasText: "restarting" }).waitFor();
  await part("b").filter({ hasText: "waiting" }).waitFor();
  // Nobody drives it any more; the hosts know how far they are.
  client.kill("SIGKILL");
  await processExit(client.pid ?? 0);
  await page.reload();
  await part("a").filter({ hasText: "restarting" }).waitFor();
  const [, id = ""] = CONTINUES.exec((await band.textContent()) ?? "") ?? [];
  assert.deepEqual(await rig.axe(page), []);
  await band.getByRole("button", { name: `Copy procman rollout abort ${id}` }).waitFor();
  assert.equal(await band.getByRole("button", { name: /Dismiss/ }).count(), 0);
  writeFileSync(gate, "");
  await part("a").filter({ hasText: "done" }).waitFor();
  await band.getByRole("status").filter({ hasText: "1 of 2 done" }).waitFor();
  const { code, err } = await here.run("rollout", "continue", id);
  assert.equal(code, 0, err);
  await band.getByRole("status").filter({ hasText: "2 of 2 done" }).waitFor();
  await band.getByRole("button", { name: /Dismiss/ }).focus();
  await page.keyboard.press("Enter");
  await band.waitFor({ state: "detached" });
  await page.reload();
  await page.getByRole("row").filter({ hasText: "all well" }).first().waitFor();
  assert.equal(await band.count(), 0);
  assert.deepEqual(rig.faults, []);
});

const NAMES = Array.from({ length: 20 }, (_, index) => `web${index + 1}`);

/** As if a deployment of these hosts went on, and one of them did not answer. */
function summaries(): ReadonlyMap<string, HostSummary> {
  const ago = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString();
  const common = {
    id: "20261128-095900-8f3a",
    hosts: NAMES,
    action: { kind: "deploy", order: { folder: "/srv/builds/2026-11-28-release-of-the-shop-with-a-long-name" } },
    batch: 4,
    maxFailed: 1,
    onFailure: "stop",
    by: "ann@laptop",
    since: ago(12),
    time: ago(200),
    consumer: "cli",
    next: 1,
  } as const;
  const problem = `Cannot deploy: "web" is not up: it exited with code 3\n  Error: Cannot find module`;
  const phases: readonly Partial<RolloutRecord>[] = [
    { phase: "running", line: "watching it for 30 s", said: ago(12) },
    { phase: "failed", problem },
    { phase: "draining" },
    { phase: "readying" },
    { phase: "taken-back" },
    { phase: "back-running" },
    { phase: "done" },
  ];
  const waiting: Partial<RolloutRecord> = { phase: "waiting" };
  return new Map(
    NAMES.map((host, index): readonly [string, HostSummary] => {
      const rollout = { ...common, host, ...(phases[index] ?? waiting) } as RolloutRecord;
      const sound = { host, name: "shop", version: "1.1.0", total: 4, attention: 0, rollout };
      return [host, index === 19 ? { host, problem: "Cannot reach web20: Connection refused" } : sound];
    }),
  );
}

test("twenty hosts fit into each window, dark and light, and say so to a screen reader", async (context) => {
  if (isMissing(context, "chromium")) return;
  const port = await freeRange(NAMES.length);
  const here = hostsFolder(context, Object.fromEntries(NAMES.slice(1).map((name, index) => [name, port + 1 + index])));
  await here.addAll();
  const rig = await DashboardRig.start(context, [{ id: "web", cmd: "sleep 1000", autostart: true }], { api: { port } });
  const token = join(here.folder, "web1.token");
  writeFileSync(token, (await rig.command(["token", "--consumer", "ops"])).out, { mode: 0o600 });
  const added = await here.add("web1", `http://127.0.0.1:${port}`, "--token-file", token);
  assert.equal(added.code, 0, added.err);
  const { link } = await openedGateway(context, here.env, `web1,${NAMES.slice(1).join(",")}`);
  const page = await rig.page();
  await page.route(/\/hosts\?host=/, (route) => {
    const host = new URL(route.request().url()).searchParams.get("host") ?? "";
    return route.fulfill({ json: summaries().get(host) });
  });
  await page.goto(link);
  await page.locator(".connection.live").waitFor();
  await go(page, "Hosts");
  const band = page.getByRole("region", { name: /^deploy/ });
  await band.getByRole("listitem").filter({ hasText: "web20" }).filter({ hasText: "unreachable" }).waitFor();
  assert.equal(await band.getByRole("listitem").count(), NAMES.length);
  assert.match((await band.textContent()) ?? "", /watching it for 30 s \(\d+ s\)/);
  assert.match(
    (await band.getByRole("link", { name: "web7", exact: true }).getAttribute("href")) ?? "",
    /^http:.*\/enter$/,
  );
  for (const colorScheme of ["light", "dark"] as const)
    for (const width of [360, 1_280]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      assert.equal(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), true, `${width}`);
      assert.deepEqual(await rig.axe(page), []);
      await rig.picture(page, `rollout-${width}-${colorScheme}`);
    }
  assert.deepEqual(rig.faults, []);
});
