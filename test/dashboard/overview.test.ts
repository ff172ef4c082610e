/** The overview in a real Chromium: what each width shows, troubles, groups, and the choices of the user. */
import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { assertWithin } from "../support/machine-pace.ts";
import type { ProcessConfig } from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";
import { closeBrowser, DashboardRig, go } from "./dashboard-rig.ts";

after(closeBrowser);

const WIDTHS = [360, 768, 834, 900, 901, 1_024, 1_280, 1_920] as const;
const LONG = "billing-reconciliation-worker-eu-central-1-production-blue";
const REASON =
  'could not be started: there is no program "no-such-program" in its PATH; correct "cmd" or add its folder to "path"; not retried';

function started(context: TestContext, processes: readonly ProcessConfig[]): Promise<DashboardRig> | undefined {
  return isMissing(context, "chromium") ? undefined : DashboardRig.start(context, processes);
}

/** As if procman had these processes. */
async function openWith(rig: DashboardRig, records: readonly ProcessRecord[]): Promise<Page> {
  const page = await rig.open();
  await page.route(/\/processes$/, (route) => route.fulfill({ json: records }));
  await page.route(/\/metrics\?/, (route) => route.fulfill({ json: [] }));
  await page.reload();
  await page.locator(`tr[data-id="${records[0]?.id}"]`).first().waitFor();
  return page;
}

function record(id: string, more: Partial<ProcessRecord> = {}): ProcessRecord {
  const started = new Date(Date.now() - 3_600_000).toISOString();
  const running = { type: "process", status: "running", blocked: false, restarts: 0, reason: "runs" } as const;
  return { ...running, id, pid: 4_711, started, cpuPercent: 1.5, memoryBytes: 48e6, ...more } as ProcessRecord;
}

/** Long names that differ at their ends alone, and some that are in trouble. */
const RECORDS: readonly ProcessRecord[] = [
  record("api"),
  ...Array.from({ length: 20 }, (_, index) => record(`${LONG}-${String(index).padStart(3, "0")}`)),
  record(`${LONG}-down`, { status: "errored", reason: REASON }),
  record("cache", { status: "exhausted", reason: "exited with code 2; its 3 restarts are used up", restarts: 3 }),
  record("backup", {
    status: "created",
    reason: "has not been started yet",
    nextRun: new Date(Date.now() + 1e6).toISOString(),
  }),
];

type ShownRow = {
  readonly id: string;
  readonly state: number;
  readonly badge: boolean;
  readonly beginning: number;
  readonly end: boolean;
};

/** Of each row: the width of its state, and whether the badge and both ends of a split name lie inside of their cells. */
const MEASURE = `[...document.querySelectorAll("tr[data-id]")].map((row) => {
  const box = (selector) => row.querySelector(selector)?.getBoundingClientRect();
  const inside = (inner, outer) => inner !== undefined && inner.width > 0 && inner.left >= outer.left && inner.right <= outer.right + 1;
  const [name, state] = [box("th"), box(".state-cell")];
  const isSplit = row.querySelector(".split") !== null;
  return {
    id: row.dataset.id,
    state: state.width,
    badge: inside(box(".badge"), state),
    beginning: isSplit ? box(".head").width : box(".name").width,
    end: inside(isSplit ? box(".tail") : box(".name"), name),
  };
})`;

test("at each width all names have their beginning and end in view, and the state has at least 160 pixels", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000" }]);
  if (rig === undefined) return;
  const page = await openWith(rig, RECORDS);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    for (const options of ["", "isCompact=true&pid=true&port=true"]) {
      await page.evaluate(`localStorage.setItem("procman-overview", "${options}")`);
      await page.reload();
      await page.locator('tr[data-id="api"]').waitFor();
      const rows = (await page.evaluate(MEASURE)) as readonly ShownRow[];
      assert.equal(rows.length, RECORDS.length, `${width}`);
      for (const { id, state, badge, beginning, end } of rows) {
        const where = `${id} at ${width} with "${options}"`;
        assert.ok(state >= 160, `${where}: the state has ${state} pixels`);
        assert.ok(badge, `${where}: the badge is cut off`);
        assert.ok(end && beginning >= 20, `${where}: the name is cut off (${beginning})`);
      }
      const whole = Number(await page.evaluate("document.documentElement.scrollWidth"));
      assert.ok(whole <= width, `${width}: the page is ${whole} wide`);
      await rig.picture(page, `overview-${width}${options === "" ? "" : "-compact"}`);
    }
  }
  const name = page.locator(`tr[data-id="${LONG}-007"] a.id`);
  assert.equal(await name.getAttribute("title"), `${LONG}-007`);
  assert.equal(await name.textContent(), `${LONG}-007`, "what is copied is whole");
  assert.deepEqual(await rig.axe(page), []);
  assert.deepEqual(rig.faults, []);
});

test("what needs attention is listed once, above the others, with its whole reason", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000" }]);
  if (rig === undefined) return;
  const page = await openWith(rig, RECORDS);
  const ids = (await page.evaluate(
    "[...document.querySelectorAll('tr[data-id]')].map((row) => row.dataset.id)",
  )) as string[];
  assert.deepEqual(ids.slice(0, 2), [`${LONG}-down`, "cache"]);
  assert.equal(await page.getByText(REASON).count(), 1);
  for (const width of [360, 1_280]) {
    await page.setViewportSize({ width, height: 800 });
    const reason = page.locator(`tr[data-id="${LONG}-down"] .reason`);
    const { height = 0 } = (await reason.boundingBox()) ?? {};
    const [inner, outer] = (await page.evaluate(
      `(() => { const cell = document.querySelector('tr[data-id="${LONG}-down"] .state-cell'); return [cell.scrollWidth, cell.clientWidth]; })()`,
    )) as [number, number];
    assert.ok(inner <= outer && (height > 20 || width > 360), `${width}: ${inner} of ${outer}, ${height} high`);
  }
  assert.deepEqual(rig.faults, []);
});

test("a group is a section with its sums, which closes, and whose actions go to all of it", async (context) => {
  const rig = await started(context, [
    { id: "web", cmd: "exec sleep 1000", autostart: true, groups: "front" },
    { id: "assets", cmd: "exec sleep 1000", autostart: true, groups: ["front", "static"] },
    { id: "db", cmd: "exec sleep 1000", autostart: true },
  ]);
  if (rig === undefined) return;
  const page = await rig.open();
  const group = (name: string) => page.locator(`tr[data-group="${name}"]`);
  const badge = (id: string) => page.locator(`tr[data-id="${id}"] .badge`).first();
  await badge("web").filter({ hasText: "running" }).waitFor();
  await group("front")
    .filter({ hasText: /2 up.*\d %.*\d [kM]?B/ })
    .waitFor();
  assert.equal(await page.locator('tr[data-id="assets"]').count(), 2, "it is in each of its groups");
  assert.deepEqual(await rig.axe(page), []);
  await page.getByRole("button", { name: "Group front", exact: true }).click();
  await page.locator('tr[data-id="web"]').waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Stop group front" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.filter({ hasText: "The group has 2 processes; 2 runs will be stopped." }).waitFor();
  await dialog.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("status").filter({ hasText: "Stop of group front: done" }).first().waitFor();
  await page.getByRole("button", { name: "Group front", exact: true }).click();
  await badge("web").filter({ hasText: "stopped" }).waitFor();
  await badge("assets").filter({ hasText: "stopped" }).waitFor();
  assert.match((await badge("db").textContent()) ?? "", /running/);
  assert.deepEqual(rig.faults, []);
});

test("pids, ports, density and grouping are chosen, and the browser keeps the choice", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000" }]);
  if (rig === undefined) return;
  const socket = { hostname: "127.0.0.1", port: 4_600 };
  const page = await openWith(rig, [record("api", { groups: ["front"] }), record("web", { type: "cluster", socket })]);
  const headers = (): Promise<readonly string[]> => page.locator(".processes thead th").allTextContents();
  assert.ok(!(await headers()).includes("Pid"));
  await page.getByText("View", { exact: true }).click();
  await page.getByLabel("Pid").check();
  await page.getByLabel("Port").check();
  await page.getByLabel("Compact rows").check();
  await page.getByLabel("By group").uncheck();
  await page.keyboard.press("Escape");
  await page.reload();
  await page.locator('tr[data-id="web"]').filter({ hasText: "4600" }).waitFor();
  assert.ok((await headers()).includes("Pid") && (await headers()).includes("Port"));
  assert.equal(await page.locator("tr[data-group]").count(), 0);
  const { height = 0 } = (await page.locator('tr[data-id="web"]').boundingBox()) ?? {};
  assert.ok(height <= 29, `a compact row has ${height} pixels`);
  assert.deepEqual(await rig.axe(page), []);
});

test("numbers count processes, as the list does; all together have a sum; / goes to the filter; a row leads to its log", async (context) => {
  const rig = await started(context, [
    { id: "web", cmd: "exec sleep 1000", autostart: true, cluster: { instances: 3 } },
    { id: "db", cmd: "echo ready for clients; exec sleep 1000", autostart: true },
  ]);
  if (rig === undefined) return;
  const page = await rig.open();
  await page.locator('tr[data-id="db"] .badge').filter({ hasText: "running" }).waitFor();
  await page.getByRole("button", { name: "2 processes" }).waitFor();
  await page
    .locator(".usage-totals")
    .filter({ hasText: /CPU \d+\.\d % of \d+ %Memory [\d.]+ \wB of/ })
    .waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("nothing like this");
  await page.getByText("No matches.").waitFor();
  await page.getByRole("button", { name: "Show all 2" }).click();
  await page.getByRole("link", { name: "Log of db" }).click();
  await page.locator(".line").filter({ hasText: "ready for clients" }).waitFor();
  await go(page, "Overview");
  await page.getByRole("button", { name: "More actions for db" }).click();
  await page
    .getByRole("menuitem", { name: "Block", exact: true })
    .filter({ hasText: "until you unblock it" })
    .waitFor();
  await page.getByRole("menuitem", { name: "Send a signal", exact: true }).click();
  await page.getByRole("dialog").getByLabel("Signal").selectOption("SIGCONT");
  await page.getByRole("dialog").getByRole("button", { name: "Send a signal" }).click();
  await page.getByRole("status").filter({ hasText: "SIGCONT was sent to db." }).first().waitFor();
  assert.deepEqual(rig.faults, []);
});

test("processes are selected by checkbox, Shift and keyboard, and stopped together after one question that names them", async (context) => {
  const rig = await started(context, [
    ...["api", "db", "mail", "web"].map((id) => ({ id, cmd: "exec sleep 1000", autostart: true })),
    { id: "later", cmd: "exec sleep 1000" },
    { id: "pair", cmd: "exec sleep 1000", autostart: true, cluster: { instances: 2 }, dependsOn: ["api"] },
  ]);
  if (rig === undefined) return;
  const page = await rig.open();
  const box = (id: string) => page.getByRole("checkbox", { name: `Select ${id}`, exact: true });
  const badge = (id: string) => page.locator(`tr[data-id="${id}"] .badge`).first();
  const bar = page.getByRole("region", { name: "Selected processes" });
  await badge("pair").filter({ hasText: "running" }).waitFor();
  assert.equal(await bar.count(), 0);
  await page.getByRole("button", { name: "Process", exact: true }).click();
  await box("api").check();
  await box("mail").click({ modifiers: ["Shift"] });
  await bar.filter({ hasText: "4 selected" }).waitFor();
  await page.locator('tr[data-id="mail"] a.id').focus();
  await page.keyboard.press("Shift+ArrowDown");
  await bar.filter({ hasText: "5 selected" }).waitFor();
  await page.keyboard.press("x");
  await bar.filter({ hasText: "4 selected" }).waitFor();
  assert.deepEqual(await rig.axe(page), []);
  await rig.picture(page, "selection-1280");
  await bar.getByRole("button", { name: "Stop" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("heading", { name: "Stop: 3 processes?" }).waitFor();
  assert.deepEqual(await dialog.locator(".names code").allTextContents(), ["api", "db", "mail"]);
  await dialog.filter({ hasText: "1 other one is left as it is." }).waitFor();
  await dialog.filter({ hasText: "This process depends on them: pair." }).waitFor();
  assert.deepEqual(await rig.axe(page), []);
  await page.keyboard.press("Escape");
  await bar.filter({ hasText: "4 selected" }).waitFor();
  await bar.getByRole("button", { name: "Stop" }).click();
  await dialog.getByRole("button", { name: "Stop" }).click();
  await page.getByRole("status").filter({ hasText: "Stop of 3 processes: requested." }).first().waitFor();
  for (const id of ["api", "db", "mail"]) await badge(id).filter({ hasText: "stopped" }).waitFor();
  assert.match((await badge("web").textContent()) ?? "", /running/);
  assert.equal(await bar.count(), 0);
  await box("db").check();
  await bar.getByRole("button", { name: "Select all 6" }).click();
  await bar.filter({ hasText: "6 selected" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.press("Escape");
  await bar.filter({ hasText: "6 selected" }).waitFor();
  await page.locator('tr[data-id="db"] a.id').focus();
  await page.keyboard.press("Escape");
  await bar.waitFor({ state: "detached" });
  assert.deepEqual(rig.faults, []);
});

test("what procman refuses of many requests is said once", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000" }]);
  if (rig === undefined) return;
  const page = await openWith(rig, [record("api"), record("cache"), record("web")]);
  await page.getByRole("checkbox", { name: "Select web" }).check();
  const bar = page.getByRole("region", { name: "Selected processes" });
  await bar.getByRole("button", { name: "Select all 3" }).click();
  await bar.getByRole("button", { name: "Restart" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Restart" }).click();
  await page.getByText(/^2 are refused: Cannot find process "(?:api|cache)"/).waitFor();
  assert.deepEqual(rig.faults, []);
});

test("on a phone the bar of the selection and its question fit, and a token that may only look selects nothing", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000" }]);
  if (rig === undefined) return;
  const page = await openWith(rig, RECORDS);
  await page.setViewportSize({ width: 360, height: 740 });
  await page.getByRole("checkbox", { name: "Select api" }).check();
  const bar = page.getByRole("region", { name: "Selected processes" });
  await bar.getByRole("button", { name: `Select all ${RECORDS.length}` }).click();
  const { x = -1, width = 999, y = 0, height = 999 } = (await bar.boundingBox()) ?? {};
  assert.ok(x >= 0 && x + width <= 360 && y + height <= 740, `${x} ${width} ${y} ${height}`);
  await rig.picture(page, "selection-360");
  await bar.getByRole("button", { name: "Stop" }).click();
  const dialog = page.getByRole("dialog");
  const box = (await dialog.boundingBox()) ?? { x: -1, width: 999, y: -1, height: 999 };
  assert.ok(box.x >= 0 && box.x + box.width <= 360 && box.y >= 0 && box.y + box.height <= 740, JSON.stringify(box));
  assert.equal(Number(await page.evaluate("document.documentElement.scrollWidth")), 360);
  await rig.picture(page, "selection-dialog-360");
  const reader = await rig.open({}, ["--scope", "read"]);
  await reader.locator('tr[data-id="web"]').waitFor();
  assert.equal(await reader.getByRole("checkbox", { name: /^Select / }).count(), 0);
});

test("5 000 processes are selected at once, and scrolled, without a pause", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000" }]);
  if (rig === undefined) return;
  const page = await openWith(
    rig,
    Array.from({ length: 5_000 }, (_, index) => record(`p${String(index).padStart(4, "0")}`)),
  );
  await page.getByRole("checkbox", { name: "Select p0000" }).check();
  const bar = page.getByRole("region", { name: "Selected processes" });
  const took = (await page.evaluate(`(async () => {
    const all = [...document.querySelectorAll(".selection-bar button")].find(({ textContent }) => textContent.includes("5000"));
    const began = performance.now();
    all.click();
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - began;
  })()`)) as number;
  await bar.filter({ hasText: "5000 selected" }).waitFor();
  assertWithin(300, took, "the selection of 5 000 rows");
  await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)");
  await page.getByRole("checkbox", { name: "Select p4999" }).waitFor();
  assert.ok(await page.getByRole("checkbox", { name: "Select p4999" }).isChecked());
  assert.ok((await page.locator("tr[data-id]").count()) < 200);
  assert.deepEqual(rig.faults, []);
});
