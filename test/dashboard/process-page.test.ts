/** What the page of a process, the service page and the curves of the overview show and say, in a real Chromium. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { eventually, type ProcessConfig } from "../support/procman-process.ts";
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
  await go(page, "System");
  await go(page, "Overview");
  await row(page, "web").getByRole("img").first().waitFor({ state: "detached" });
  await row(page, "web").locator("svg.sparkline").first().waitFor();
});

test("the page of a process has its part of the file with comments, without secrets, for admins only; also narrow and dark", async (context) => {
  const rig = await started(context, [SECRETIVE]);
  if (rig === undefined) return;
  for (const options of [{}, { viewport: { width: 360, height: 740 }, colorScheme: "dark" }] as const) {
    const page = await rig.open(options);
    await row(page, "web").getByRole("link", { name: "web", exact: true }).click();
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
  await row(reader, "web").getByRole("link", { name: "web", exact: true }).click();
  await reader.getByRole("heading", { name: "web", level: 1 }).waitFor();
  assert.equal(await reader.getByText("In the file").count(), 0);
  assert.deepEqual(rig.faults, []);
});

test("the service page has each part of procman, with its pid", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  if (rig === undefined) return;
  const page = await rig.open();
  await go(page, "System");
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
    await row(page, "web").getByRole("link", { name: "web", exact: true }).click();
    await page.getByRole("button", { name: "1 h", exact: true }).click();
    await page.locator(".timeline .span").waitFor();
    const width = (await page.locator(".timeline .span").boundingBox())?.width ?? 0;
    assert.ok(width < 200, `the run of a few seconds is ${width} pixels`);
    assert.ok(histories.length > 0);
    for (const age of histories)
      assert.ok(
        Math.abs(age - 3_600_000) < 60_000 || Math.abs(age - 300_000) < 60_000,
        `points are asked for from ${age} ms ago`,
      );
    await go(page, "System");
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
  await row(page, "web").getByRole("link", { name: "web", exact: true }).click();
  await page.getByText("The log of this process isn't stored").waitFor();
  assert.deepEqual(await rig.axe(page), []);
  await page.getByRole("link", { name: "Log", exact: true }).click();
  await page.getByText(`The log isn't stored, because "logger.internalLogHours" is 0`).waitFor();
  assert.deepEqual(await rig.axe(page), []);
  assert.deepEqual(rig.faults, []);
});

const CRASH = `${process.execPath} -e "console.log('starting'); setTimeout(() => { throw new Error('no such table: users') }, 100)"`;
const RANGES = ["5 min", "1 h", "24 h", "7 d"] as const;

/** Notes each text that is drawn on a canvas since it was cleared, with the place it takes. */
const WATCH_TEXTS = `{
  const { clearRect, fillText } = CanvasRenderingContext2D.prototype;
  globalThis.drawn = new Map();
  CanvasRenderingContext2D.prototype.clearRect = function (...rest) {
    globalThis.drawn.delete(this.canvas);
    return clearRect.apply(this, rest);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) {
    const { width } = this.measureText(text);
    const left = { center: x - width / 2, right: x - width }[this.textAlign] ?? x;
    const texts = globalThis.drawn.get(this.canvas) ?? [];
    globalThis.drawn.set(this.canvas, [...texts, { text, y, left, right: left + width }]);
    return fillText.call(this, text, x, y, ...rest);
  };
}`;
/** Number of canvases of the page that were drawn. */
const DRAWN = "[...globalThis.drawn.keys()].filter((canvas) => canvas.isConnected).length";
/** Labels side by side that touch each other, of the newest picture of each canvas. */
const COLLISIONS = `[...globalThis.drawn].filter(([canvas]) => canvas.isConnected).flatMap(([, texts]) =>
  texts.flatMap((one, index) => texts.slice(index + 1)
    .filter((other) => other.text !== one.text && other.y === one.y && one.left < other.right + 3 && other.left < one.right + 3)
    .map((other) => one.text + " | " + other.text)))`;

test("labels of times have room in each range and width; runs and curves have one time axis; what doesn't run has no present value", async (context) => {
  const rig = await started(context, [
    { id: "web", cmd: "exec sleep 1000", autostart: true },
    { id: "job", cmd: "sleep 1", autostart: true, restart: "never" },
  ]);
  if (rig === undefined) return;
  const page = await rig.open();
  await page.addInitScript({ content: WATCH_TEXTS });
  await page.route(/\/metrics\?/, (route) => {
    const query = new URL(route.request().url()).searchParams;
    const [from, step] = [Number(query.get("from")), Number(query.get("step") ?? 5)];
    const isShort = from > Date.now() - 400_000;
    const points = Array.from({ length: isShort ? 8 : 100 }, (_, index) => ({
      time: new Date(Date.now() - index * step * 1_000).toISOString(),
      cpuPercent: 1.7,
      memoryBytes: 6e6,
      processes: 1,
    }));
    return route.fulfill({ json: points.toReversed() });
  });
  await page.evaluate("location.hash = '#/process/web'");
  await page.reload();
  for (const width of [360, 834, 1_280]) {
    await page.setViewportSize({ width, height: 900 });
    for (const range of RANGES) {
      await page.getByRole("button", { name: range, exact: true }).click();
      await page.locator(".charts canvas").nth(1).waitFor();
      await eventually(async () => Number(await page.evaluate(DRAWN)) >= 2 || undefined);
      assert.deepEqual(await page.evaluate(COLLISIONS), [], `${range} at ${width}`);
    }
    const runs = await page.locator(".timeline").boundingBox();
    for (const index of [0, 1]) {
      const box = async () => (await page.locator(".charts .u-over").nth(index).boundingBox()) ?? undefined;
      // A chart is drawn anew with another size.
      const curves = await eventually(box);
      assert.ok(Math.abs((runs?.x ?? 0) - curves.x) < 3, `${width}: ${runs?.x} and ${curves.x}`);
      assert.ok(Math.abs((runs?.width ?? 0) - curves.width) < 4, `${width}: ${runs?.width} and ${curves.width}`);
    }
  }
  await page.locator("figcaption").filter({ hasText: "now 1.7 %, peak 1.7 %" }).waitFor();
  await page.evaluate("location.hash = '#/process/job'");
  await page.locator(".title-bar .badge").filter({ hasText: "finished" }).waitFor();
  await page
    .locator("figcaption")
    .filter({ hasText: /^CPU peak 1\.7 %, ┆ a configuration was applied$/ })
    .waitFor();
  await page.unroute(/\/metrics\?/);
  await page.route(/\/metrics\?/, (route) => route.fulfill({ json: [] }));
  await page.reload();
  await page.getByText("No values in this period: it didn't run, or not for long.").first().waitFor();
  assert.equal((await page.locator("figcaption").first().textContent())?.trim(), "CPU");
  assert.deepEqual(rig.faults, []);
});

test("a process in a crash loop shows its error line, restarts once, its log as it comes, and actions with words", async (context) => {
  const rig = await started(context, [
    { id: "crashy", cmd: CRASH, autostart: true, restart: "always", restartLimit: 2, restartDelayMs: 0 },
    { id: "ticker", cmd: "i=0; while sleep 0.2; do i=$((i+1)); echo tick $i; done", autostart: true },
  ]);
  if (rig === undefined) return;
  const page = await rig.open();
  await row(page, "crashy").locator(".badge").filter({ hasText: "exhausted" }).waitFor();
  await row(page, "crashy").getByRole("link", { name: "crashy", exact: true }).click();
  const error = page.locator(".why .error-line");
  await error.filter({ hasText: /^Error: no such table: users$/ }).waitFor();
  await page
    .locator(".why")
    .filter({ hasText: /3 unexpected exits in 24 hours, the last \d+ s ago/ })
    .waitFor();
  await page.setViewportSize({ width: 1_280, height: 800 });
  const { y = 999 } = (await error.boundingBox()) ?? {};
  assert.ok(y < 200, `the error is ${y} pixels below the top`);
  assert.equal(
    await page
      .locator("dt")
      .filter({ hasText: /^Restarts$/ })
      .count(),
    1,
  );
  await page.getByText("Last lines and details").click();
  await page.locator(".why pre").filter({ hasText: "no such table: users" }).waitFor();
  for (const name of ["Start", "More"]) await page.locator(".title-bar button").filter({ hasText: name }).waitFor();
  await page.locator(".tail .line").filter({ hasText: "no such table" }).first().waitFor();
  assert.deepEqual(await rig.axe(page), []);
  await go(page, "Overview");
  await row(page, "ticker").getByRole("link", { name: "ticker", exact: true }).click();
  const last = page.locator(".tail .line .text").last();
  await last.filter({ hasText: /tick \d+/ }).waitFor();
  const [tail, why] = [await page.locator(".tail").boundingBox(), await page.locator(".why").boundingBox()];
  assert.ok((tail?.x ?? 0) > (why?.x ?? 0) + (why?.width ?? 999) - 1, "the log is beside the state");
  const number = Number(/\d+/.exec((await last.textContent()) ?? "")?.[0]);
  await page
    .locator(".tail .line")
    .filter({ hasText: `tick ${number + 3}` })
    .waitFor();
  await page.locator(".tail .follow-state").filter({ hasText: "Following" }).waitFor();
  assert.deepEqual(await rig.axe(page), []);
  for (const width of [360, 768, 834, 1_024, 1_280, 1_920]) {
    await page.setViewportSize({ width, height: 900 });
    const whole = Number(await page.evaluate("document.documentElement.scrollWidth"));
    assert.ok(whole <= width, `${width}: the page is ${whole} wide`);
    await rig.picture(page, `process-${width}`);
  }
  assert.deepEqual(rig.faults, []);
});

test("a cluster that is scaled has a curve of its instances, with those that are gone", async (context) => {
  const cluster = { instances: 1 };
  const scale = { min: 3, max: 4, targets: { cpu: 70 } };
  const rig = await started(context, [{ id: "web", cmd: "exec sleep 1000", autostart: true, cluster, scale }]);
  if (rig === undefined) return;
  const page = await rig.open();
  const shows = (text: RegExp): Promise<true> =>
    eventually(async () => {
      await page.reload();
      await page.getByRole("heading", { name: "web", level: 1 }).waitFor();
      const chart = page.locator("figure", { hasText: "Instances" });
      const caption = (await chart.locator("figcaption").textContent()) ?? "";
      return text.test(caption) ? true : undefined;
    });
  await row(page, "web").getByRole("link", { name: "web", exact: true }).click();
  await shows(/^Instances now 3, peak 3$/);
  await page.getByText(/^1 -> 3 at .*: its minimum is 3\.$/).waitFor();
  await rig.command(["scale", "web", "1"]);
  await shows(/^Instances now 1, peak 3$/);
  assert.deepEqual(await rig.axe(page), []);
  await rig.picture(page, "process-scaled");
  assert.deepEqual(rig.faults, []);
});

test("a line below the log types into a process: Enter sends it, the arrow keys bring earlier ones back, a refusal is shown", async (context) => {
  const cmd = "while read -r line; do echo got $line; done";
  const rig = await started(context, [
    { id: "echo", cmd, stdin: true, autostart: true },
    { id: "deaf", cmd: "exec sleep 1000", autostart: true },
  ]);
  if (rig === undefined) return;
  for (const options of [{}, { viewport: { width: 360, height: 740 }, colorScheme: "dark" }] as const) {
    const page = await rig.open(options);
    await row(page, "echo").getByRole("link", { name: "echo", exact: true }).click();
    const field = page.getByRole("textbox", { name: "Input for echo" });
    const log = page.getByRole("log");
    await field.fill("one");
    await field.press("Enter");
    await log.getByText("got one", { exact: true }).first().waitFor();
    await field.fill("two");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await log.getByText("got two", { exact: true }).first().waitFor();
    for (const [key, text] of [
      ["ArrowUp", "two"],
      ["ArrowUp", "one"],
      ["ArrowDown", "two"],
      ["ArrowDown", ""],
    ] as const) {
      await field.press(key);
      assert.equal(await field.inputValue(), text);
    }
    assert.deepEqual(await rig.axe(page), []);
    const [inner, whole] = (await page.evaluate("[innerWidth, document.documentElement.scrollWidth]")) as [
      number,
      number,
    ];
    assert.ok(whole <= inner, `${whole} wide, the screen ${inner}`);
    await rig.command(["stop", "echo"]);
    await field.fill("three");
    await field.press("Enter");
    await page.getByRole("alert").filter({ hasText: 'Cannot send to "echo": it ' }).waitFor();
    await rig.picture(page, `input-${"colorScheme" in options ? "narrow-dark" : "light"}`);
    await rig.command(["start", "echo"]);
  }
  const page = await rig.open({}, ["--scope", "read,control"]);
  for (const id of ["echo", "deaf"]) {
    await go(page, "Overview");
    await row(page, id).getByRole("link", { name: id, exact: true }).click();
    await page.getByRole("heading", { name: id, level: 1 }).waitFor();
    assert.equal(await page.getByRole("textbox", { name: /^Input for/ }).count(), 0, id);
  }
  const deaf = await rig.open();
  await row(deaf, "deaf").getByRole("link", { name: "deaf", exact: true }).click();
  await deaf.getByRole("heading", { name: "deaf", level: 1 }).waitFor();
  assert.equal(await deaf.getByRole("textbox", { name: /^Input for/ }).count(), 0);
  assert.deepEqual(rig.faults, []);
});
