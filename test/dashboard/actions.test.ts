/** Each action of the dashboard by click, in a real Chromium. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import type { Page } from "playwright-core";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { isMissing } from "../support/system-programs.ts";
import { closeBrowser, DashboardRig, go } from "./dashboard-rig.ts";

after(closeBrowser);

const WEB = {
  id: "web",
  cmd: "echo hello; exec sleep 1000",
  autostart: true,
  cluster: { instances: 2 },
  minUptimeMs: 0,
};

function badge(page: Page, id: string, text: string): Promise<void> {
  return page.locator(`tr[data-id="${id}"] .badge`).filter({ hasText: text }).waitFor();
}

/** By the menu of the process, with a confirmation where one is asked for. */
async function choose(page: Page, id: string, action: string, confirm?: string): Promise<void> {
  await page.getByRole("button", { name: `More actions for ${id}`, exact: true }).click();
  await page.getByRole("menuitem", { name: action, exact: true }).click();
  if (confirm !== undefined) await page.getByRole("dialog").getByRole("button", { name: confirm, exact: true }).click();
}

function done(page: Page, text: string | RegExp): Promise<void> {
  return page.getByRole("status").filter({ hasText: text }).first().waitFor();
}

test("rolling and hard restarts replace all instances; scaling changes their number; block, unblock, disable and enable are done at once", async (context) => {
  if (isMissing(context, "chromium")) return;
  const rig = await DashboardRig.start(context, [WEB, { id: "job", cmd: "sleep 1000" }]);
  const pids = async (): Promise<readonly (number | undefined)[]> => {
    const records = JSON.parse((await rig.command(["status", "--json"])).out) as readonly ProcessRecord[];
    return records.find(({ id }) => id === "web")?.instances?.map(({ pid }) => pid) ?? [];
  };
  const page = await rig.open();
  await badge(page, "web", "running");
  const before = await pids();
  await page.getByRole("button", { name: "Restart web", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog
    .filter({ hasText: "2 instances will be restarted one after another" })
    .getByRole("button", { name: "Restart", exact: true })
    .click();
  await done(page, "Restart of web: done");
  const rolled = await pids();
  assert.ok(
    rolled.length === 2 && rolled.every((pid) => pid !== undefined && !before.includes(pid)),
    `${before} ${rolled}`,
  );
  await choose(page, "web", "Restart all at once", "Restart all at once");
  await done(page, "Restart all at once of web: done");
  const hard = await pids();
  assert.ok(hard.length === 2 && hard.every((pid) => pid !== undefined && !rolled.includes(pid)), `${rolled} ${hard}`);
  await page.getByRole("button", { name: "More actions for web", exact: true }).click();
  await page.getByRole("menuitem", { name: "Scale", exact: true }).click();
  await dialog.getByLabel("Instances").fill("1");
  await dialog.getByRole("button", { name: "Scale" }).click();
  await done(page, "Scale of web: done");
  assert.deepEqual(await pids(), hard.slice(0, 1), "the first one stays");
  await choose(page, "job", "Block");
  await badge(page, "job", "blocked");
  await choose(page, "job", "Unblock");
  await done(page, "Unblock of job: done");
  await page.getByRole("button", { name: "Start job" }).click();
  await badge(page, "job", "running");
  await choose(page, "job", "Disable");
  await badge(page, "job", "disabled");
  await choose(page, "job", "Enable");
  await page.locator('tr[data-id="job"] .badge').filter({ hasNotText: "disabled" }).waitFor();
  assert.deepEqual(await rig.axe(page), []);
  assert.deepEqual(rig.faults, []);
});

test("lines of the log are copied and downloaded by click", async (context) => {
  if (isMissing(context, "chromium")) return;
  const rig = await DashboardRig.start(context, [
    { id: "printer", cmd: "echo first; echo second; exec sleep 1000", autostart: true },
  ]);
  const page = await rig.open({ permissions: ["clipboard-read", "clipboard-write"] });
  await go(page, "Logs");
  await page.locator(".line").filter({ hasText: "second" }).waitFor();
  await page.getByRole("button", { name: /^Copy/ }).click();
  await done(page, /lines copied/);
  const copied = String(await page.evaluate("navigator.clipboard.readText()"));
  assert.match(copied, /printer first\n.*printer second\n/);
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: /Download/ }).click();
  const download = await waiting;
  assert.match(download.suggestedFilename(), /^shop-.*\.log$/);
  assert.match(readFileSync(await download.path(), "utf8"), /printer first\n.*printer second\n/);
  assert.deepEqual(rig.faults, []);
});
