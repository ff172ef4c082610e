/** What the page of a process, the service page and the curves of the overview show and say, in a real Chromium. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import type { ProcessConfig } from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";
import { closeBrowser, DashboardRig, go } from "./dashboard-rig.ts";

after(closeBrowser);

const SECRETIVE: ProcessConfig = {
  id: "web",
  cmd: "sleep 1000",
  autostart: true,
  env: { API_TOKEN: "hidden-value", URL: "https://me:hidden-value@host/", MODE: "shown-value" },
};

async function started(
  context: TestContext,
  processes: readonly ProcessConfig[],
  config: object = {},
): Promise<DashboardRig | undefined> {
  return isMissing(context, "chromium") ? undefined : DashboardRig.start(context, processes, config);
}

function row(page: Page, id: string): ReturnType<Page["locator"]> {
  return page.locator(`tr[data-id="${id}"]`);
}

test("a curve that can't be fetched is a sign with the reason, and comes back when it can", async (context) => {
  const rig = await started(context, [SECRETIVE, { id: "db", cmd: "sleep 1000", autostart: true }]);
  if (rig === undefined) return;
  const page = await rig.open();
  await row(page, "web").locator("svg.sparkline").first().waitFor();
  const problem = {
    type: "about:blank",
    title: "Unavailable",
    status: 503,
    code: "log-unavailable",
    detail: "The disk is gone",
  };
  const isMetrics = /processes\/web\/metrics/;
  await page.route(isMetrics, (route) =>
    route.fulfill({ status: 503, contentType: "application/problem+json", json: problem }),
  );
  await page.reload();
  await row(page, "web").getByRole("img", { name: "No curve: The disk is gone" }).first().waitFor();
  assert.equal(await row(page, "db").getByRole("img").count(), 0, "the others have theirs");
  assert.deepEqual(await rig.axe(page), []);
  await page.unroute(isMetrics);
  await go(page, "Service");
  await go(page, "Overview");
  await row(page, "web").getByRole("img").first().waitFor({ state: "detached" });
  await row(page, "web").locator("svg.sparkline").first().waitFor();
});

test("the page of a process has its part of the file with comments, without secrets, for admins only; also narrow and dark", async (context) => {
  const rig = await started(context, [SECRETIVE]);
  if (rig === undefined) return;
  for (const options of [{}, { viewport: { width: 360, height: 740 }, colorScheme: "dark" }] as const) {
    const page = await rig.open(options);
    await row(page, "web").getByRole("link").click();
    await page.getByText(`${join(rig.folder, "procman.json")}:`).waitFor();
    const written = page.getByRole("region", { name: "Part of the configuration file" });
    const text = (await written.textContent()) ?? "";
    assert.match(text, /"id":\s*"web"/);
    assert.match(text, /"API_TOKEN":\s*"\*\*\*"/);
    assert.match(text, /"https:\/\/\*\*\*@host\/"/);
    assert.ok(!(await page.content()).includes("hidden-value"));
    await written.focus();
    assert.deepEqual(await rig.axe(page), []);
    const [inner, whole] = (await page.evaluate("[innerWidth, document.documentElement.scrollWidth]")) as [
      number,
      number,
    ];
    assert.ok(whole <= inner, `${whole} wide, the screen ${inner}`);
    await rig.picture(page, `process-${"colorScheme" in options ? "narrow-dark" : "light"}`);
  }
  const reader = await rig.open({}, ["--scope", "read"]);
  await row(reader, "web").getByRole("link").click();
  await reader.getByRole("heading", { name: "web", level: 1 }).waitFor();
  assert.equal(await reader.getByText("In the file").count(), 0);
  assert.deepEqual(rig.faults, []);
});

test("the service page has each part of procman, with its pid", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  if (rig === undefined) return;
  const page = await rig.open();
  await go(page, "Service");
  const parts = page.getByRole("region", { name: "Table of parts" });
  const { procman } = rig;
  for (const [part, pid] of [
    ["keeper", procman.pid],
    ["service", procman.helper("service")],
    ["logger", procman.helper("logger")],
  ])
    await parts
      .getByRole("row")
      .filter({ hasText: `${part}` })
      .filter({ hasText: `${pid}` })
      .filter({ hasText: "MB" })
      .waitFor();
  assert.deepEqual(await rig.axe(page), []);
  assert.deepEqual(rig.faults, []);
});

test("a browser whose clock is an hour off shows the ages, the curves and the staleness that procman's clock gives", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "exec sleep 1000", autostart: true }]);
  if (rig === undefined) return;
  for (const hours of [-1, 1]) {
    const page = await rig.open();
    await page.addInitScript(`{
      const [RealDate, ahead] = [Date, ${hours * 3_600_000}];
      globalThis.Date = class extends RealDate {
        constructor(...given) { given.length === 0 ? super(RealDate.now() + ahead) : super(...given); }
        static now() { return RealDate.now() + ahead; }
      };
    }`);
    const histories: number[] = [];
    page.on("request", (request) => {
      const from = new URL(request.url()).searchParams.get("from");
      if (from !== null && request.url().includes("/metrics")) histories.push(Date.now() - Number(from));
    });
    await page.reload();
    await page.locator(".connection.live").filter({ hasText: "Live" }).waitFor();
    await row(page, "web")
      .locator("td.number")
      .first()
      .filter({ hasText: /^\d+ s$|^1 min$/ })
      .waitFor();
    await row(page, "web").getByRole("link").click();
    await page.locator(".timeline .span").waitFor();
    const width = (await page.locator(".timeline .span").boundingBox())?.width ?? 0;
    assert.ok(width < 200, `the run of a few seconds is ${width} pixels of an hour`);
    assert.ok(histories.length > 0);
    for (const age of histories)
      assert.ok(Math.abs(age - 3_600_000) < 60_000, `points are asked for from ${age} ms ago`);
    await go(page, "Service");
    await page
      .locator(".card")
      .filter({ hasText: /Started\s*\d+ s ago/ })
      .waitFor();
  }
});

test("without a stored log the log page and the page of a process say why there is none", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000", autostart: true }], {
    logger: { internalLogHours: 0 },
  });
  if (rig === undefined) return;
  const page = await rig.open();
  await row(page, "web").getByRole("link").click();
  await page.getByText("The log of this process isn't stored").waitFor();
  assert.deepEqual(await rig.axe(page), []);
  await page.getByRole("link", { name: "Log", exact: true }).click();
  await page.getByText(`The log isn't stored, because "logger.internalLogHours" is 0`).waitFor();
  assert.deepEqual(await rig.axe(page), []);
  assert.deepEqual(rig.faults, []);
});
