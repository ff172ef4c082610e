/** The incidents and the changes in a real Chromium. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import type { Incident } from "../../src/core/contract/run-summary.ts";
import type { ProcessConfig } from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";
import { closeBrowser, DashboardRig, go } from "./dashboard-rig.ts";

after(closeBrowser);

async function opened(
  context: TestContext,
  processes: readonly ProcessConfig[],
): Promise<{ readonly rig: DashboardRig; readonly page: Page } | undefined> {
  if (isMissing(context, "chromium")) return undefined;
  const rig = await DashboardRig.start(context, processes);
  return { rig, page: await rig.open() };
}

function incident(run: number, more: Partial<Incident> = {}): Incident {
  const time = new Date(Date.now() - (30 - run) * 60_000).toISOString();
  const texts = [
    "[eval]:1",
    "",
    `Error: no such table: users${run}`,
    "    at listOnTimeout (node:1)",
    "",
    "Node.js v20.20.2",
  ];
  return {
    time,
    process: "billing-reconciliation-worker-eu-central-1-production-blue-027",
    run,
    cause: "exit",
    code: 1,
    reason: "exited with code 1 after 1.2 s",
    decision: "restart",
    lines: texts.map(
      (text) => ({ time, severity: "error", category: "stderr", text, run }) as Incident["lines"][number],
    ),
    metrics: [],
    ...more,
  };
}

const INCIDENTS = [
  ...Array.from({ length: 26 }, (_, index) => incident(26 - index)),
  incident(3, { process: "db", code: 2, lines: [], time: new Date(Date.now() - 50 * 3_600_000).toISOString() }),
  incident(2, { process: "db", cause: "operator", reason: "was stopped", lines: [] }),
];

test("equal incidents are one row with their number and the error line; its lines are shown once; time and text filter", async (context) => {
  const { rig, page } = (await opened(context, [{ id: "web", cmd: "sleep 1000" }])) ?? {};
  if (rig === undefined || page === undefined) return;
  await page.route(/\/incidents/, (route) => route.fulfill({ json: INCIDENTS }));
  await page.reload();
  await go(page, "Incidents");
  const rows = page.locator(".group");
  await rows.filter({ hasText: /exited with code 1.*Error: no such table: users26.*26 times/ }).waitFor();
  assert.equal(await rows.count(), 2);
  for (const width of [360, 768, 834, 1_024, 1_280, 1_920]) {
    await page.setViewportSize({ width, height: 800 });
    const summary = rows.first().locator("summary");
    const [name, last] = [await summary.locator(".id").boundingBox(), await summary.locator(".last").boundingBox()];
    assert.ok((name?.height ?? 99) < 30 && (last?.height ?? 99) < 30, `${width}: a name or time has two lines`);
    assert.ok(Math.abs((name?.y ?? 0) - (last?.y ?? 99)) < 8, `${width}: the time is not in the line of the name`);
    const whole = Number(await page.evaluate("document.documentElement.scrollWidth"));
    assert.ok(whole <= width, `${width}: the page is ${whole} wide`);
    await rig.picture(page, `incidents-${width}`);
  }
  assert.deepEqual(await rig.axe(page), []);
  await rows.first().locator("summary").click();
  assert.equal(await page.locator(".group pre").filter({ hasText: "listOnTimeout" }).count(), 1, "one stack of 26");
  await page.getByRole("button", { name: "Show all 26" }).click();
  assert.equal(await page.locator(".earlier li").count(), 25);
  assert.deepEqual(await rig.axe(page), []);
  await page.getByRole("button", { name: "1 h", exact: true }).click();
  assert.equal(await rows.count(), 1);
  await page.getByRole("button", { name: "All", exact: true }).click();
  await page.getByLabel("Include requested stops").check();
  assert.equal(await rows.count(), 3);
  await page.getByLabel("Filter incidents").fill("no such table");
  assert.equal(await rows.count(), 1);
  await page.getByLabel("Filter incidents").fill("nothing like this");
  await page.getByText(/^No matches\./).waitFor();
  assert.deepEqual(rig.faults, []);
});

test("the changes have all rows that `procman plan` has, also those that start and stop nothing now", async (context) => {
  const backup = { id: "backup", cmd: "sleep 1", cron: "0 3 * * *" };
  const worker = { id: "worker", cmd: "exec sleep 1000", autostart: true };
  const { rig, page } = (await opened(context, [worker, backup])) ?? {};
  if (rig === undefined || page === undefined) return;
  await go(page, "Changes");
  await page.getByText("No changes: the running configuration matches the file (2 processes).").waitFor();
  const file = join(rig.folder, "procman.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as object;
  writeFileSync(
    file,
    JSON.stringify({
      ...config,
      processes: [
        { ...worker, memoryLimit: "90MB" },
        { ...backup, id: "backup2" },
      ],
    }),
  );
  const { out } = await rig.command(["plan"]);
  const expected = out
    .split("\n")
    .flatMap((line) => /^(backup2?|worker) +(\S+) +(\S.*?) *$/.exec(line)?.slice(1, 3).join(" ") ?? []);
  assert.deepEqual(expected.toSorted(), ["backup none", "backup2 none", "worker in-place"], out);
  await page.getByRole("row").filter({ hasText: "backup2" }).waitFor();
  const rows = await page.evaluate(
    "[...document.querySelectorAll('.plain tbody tr')].map(({ cells }) => cells[0].textContent + ' ' + cells[1].textContent)",
  );
  assert.deepEqual(rows, expected);
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("dialog").filter({ hasText: "Added or removed without a start or stop now: 2." }).waitFor();
  assert.deepEqual(await rig.axe(page), []);
  assert.deepEqual(rig.faults, []);
});

test("each problem of the edited file is there once", async (context) => {
  const { rig, page } = (await opened(context, [{ id: "web", cmd: "sleep 1000" }])) ?? {};
  if (rig === undefined || page === undefined) return;
  const file = join(rig.folder, "procman.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as object;
  const processes = [{ id: "web", cmd: "sleep 1", restart: "alway", clustr: {} }];
  writeFileSync(file, JSON.stringify({ ...config, processes }));
  await go(page, "Changes");
  const problems = page.getByRole("region", { name: "Problems of the file" });
  await problems.waitFor();
  const text = (await problems.textContent()) ?? "";
  for (const part of ['Found "alway"', 'unknown key "clustr"'])
    assert.equal(text.split(part).length - 1, 1, `${part} in\n${text}`);
  assert.deepEqual(rig.faults, []);
});
