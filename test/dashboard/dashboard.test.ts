/** The dashboard in a real Chromium, beginning from `procman dashboard` (issue 9, part 1). */
import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import type { ProcessConfig } from "../support/procman-process.ts";
import { processExit } from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";
import { closeBrowser, DashboardRig, go } from "./dashboard-rig.ts";

after(closeBrowser);

const TICKS = "i=0; while sleep 0.2; do i=$((i+1)); echo tick $i; done";
const PROCESSES: readonly ProcessConfig[] = [
  { id: "web", cmd: "sleep 1000", autostart: true, cluster: { instances: 2 }, groups: "front" },
  { id: "db", cmd: TICKS, autostart: true },
  { id: "api", cmd: "sleep 1000", autostart: true, dependsOn: ["db"] },
  { id: "broken", cmd: "echo 'connect ECONNREFUSED' >&2; exit 3", autostart: true, restart: "never" },
  { id: "backup", cmd: "sleep 1", cron: "0 3 * * *" },
];

async function started(
  context: TestContext,
  processes = PROCESSES,
  config: object = {},
): Promise<DashboardRig | undefined> {
  if (isMissing(context, "chromium")) return undefined;
  const rig = await DashboardRig.start(context, processes, config);
  return rig;
}

function row(page: Page, id: string): ReturnType<Page["locator"]> {
  return page.locator(`tr[data-id="${id}"]`);
}

async function states(page: Page, expected: Readonly<Record<string, string | RegExp>>): Promise<void> {
  for (const [id, text] of Object.entries(expected))
    await row(page, id).locator(".badge").filter({ hasText: text }).waitFor();
}

const NARROW = { viewport: { width: 360, height: 740 } };
/** Rules of axe that another screen can break; the first one has all. */
const SCREENS = [
  { screen: "light", options: {}, rules: undefined },
  { screen: "dark", options: { colorScheme: "dark" }, rules: ["color-contrast"] },
  { screen: "narrow", options: NARROW, rules: ["color-contrast", "target-size", "scrollable-region-focusable"] },
] as const;
const TABS = ["Overview", "Logs", "Incidents", "Changes", "System"] as const;

test("each page is reached by its link, breaks no rule of axe and of the policy, and fits a narrow screen", async (context) => {
  const rig = await started(context);
  if (rig === undefined) return;
  for (const { screen, options, rules } of SCREENS) {
    const page = await rig.open(options);
    await states(page, { broken: "errored", api: "running" });
    for (const tab of [...TABS, "web", "broken"]) {
      if (TABS.some((each) => each === tab)) await go(page, tab);
      else {
        await go(page, "Overview");
        await row(page, tab).getByRole("link", { name: tab, exact: true }).click();
      }
      await rig.settled(page, tab);
      assert.deepEqual(await rig.axe(page, rules), [], `${screen}: ${tab}`);
      const [inner, whole] = (await page.evaluate("[innerWidth, document.documentElement.scrollWidth]")) as [
        number,
        number,
      ];
      assert.ok(whole <= inner, `${screen}: ${tab} is ${whole} wide, the screen ${inner}`);
      await rig.picture(page, `${tab.toLowerCase()}-${screen}`);
    }
  }
  assert.deepEqual(rig.faults, []);
});

test("the link works once and is in no address; without one, a form takes a token; a wrong one is refused with the reason", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  if (rig === undefined) return;
  const page = await rig.open();
  assert.match(page.url(), /^http:\/\/127\.0\.0\.1:\d+\/$/);
  assert.equal(statSync(join(rig.procman.stateDir, "run/dashboard.html")).mode & 0o777, 0o600);
  await page.reload();
  await states(page, { web: "running" });
  const link = /http\S+#code=\S+/.exec((await rig.dashboard()).out)?.[0] ?? "";
  const first = await rig.page();
  await first.goto(link);
  await states(first, { web: "running" });
  assert.doesNotMatch(first.url(), /code=/);
  const second = await rig.page();
  await second.goto(link);
  await second.getByRole("alert").filter({ hasText: "was used before" }).waitFor();
  assert.deepEqual(await rig.axe(second), []);
  const token = (await rig.command(["token", "--consumer", "me", "--scope", "read"])).out.trim();
  await second.getByLabel("Token").fill("nonsense");
  await second.getByRole("button", { name: "Sign in" }).click();
  await second.getByRole("alert").filter({ hasText: "This is not a token" }).waitFor();
  await second.getByLabel("Token").fill(`${token.slice(0, -6)}AAAAAA`);
  await second.getByRole("button", { name: "Sign in" }).click();
  await second.getByRole("alert").filter({ hasText: "was not created by this procman" }).waitFor();
  await second.getByLabel("Token").fill(token);
  await second.keyboard.press("Enter");
  await states(second, { web: "running" });
  assert.equal(
    await second.getByRole("button", { name: /^(Stop|Restart|More actions for) web/ }).count(),
    0,
    "a token that may only look",
  );
  assert.equal(await second.getByRole("link", { name: "Changes" }).count(), 0);
  const { out } = await rig.command(["logs", "--category", "api", "-n", "100"]);
  assert.match(out, /dashboard opened for "cli"/);
  assert.ok(!out.includes(link.split("=")[1] ?? "code"));
  assert.deepEqual(rig.faults, []);
});

test("over ssh the link is printed, with the line that forwards the port; a scope is checked, and a procman without a port says what to do", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000" }]);
  if (rig === undefined) return;
  const { code, out } = await rig.dashboard([], {
    SSH_CONNECTION: "10.0.0.1 5000 10.0.0.2 2222",
    USER: "deploy",
    BROWSER: "/bin/false",
  });
  assert.equal(code, 0);
  assert.match(
    out,
    /^This link works once, within 30 s; "procman dashboard" makes another:\nhttp:\/\/127\.0\.0\.1:(\d+)\/#code=[\w-]{43}\n.*\n {2}ssh -N -L \1:127\.0\.0\.1:\1 -p 2222 deploy@10\.0\.0\.2\n$/,
  );
  const wrong = await rig.dashboard(["--scope", "raed"]);
  assert.deepEqual([wrong.code, wrong.out], [64, ""]);
  assert.match(wrong.err, /Cannot open the dashboard: there is no scope "raed".* Did you mean "read"\?/);
  const failing = await rig.dashboard([], { BROWSER: "/nonexistent" });
  assert.match(failing.out, /^This link works once/);
  const off = await started(context, [{ id: "web", cmd: "sleep 1000" }], { api: false });
  const { code: refused, err } = (await off?.dashboard()) ?? { code: 0, err: "" };
  assert.equal(refused, 69);
  assert.match(err, /browsers need a port, and "api" is false in the configuration/);
});

test("actions: what interrupts says what it does and asks, the rest is done at once, and a refusal says why", async (context) => {
  const rig = await started(context);
  if (rig === undefined) return;
  const page = await rig.open();
  await states(page, { db: "running", api: "running" });
  await page.getByRole("button", { name: "Stop db" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.filter({ hasText: "This process depends on it: api." }).waitFor();
  assert.deepEqual(await rig.axe(page), [], "with a dialog");
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  assert.equal(await page.evaluate("document.activeElement.ariaLabel"), "Stop db", "the focus goes back");
  await page.getByRole("button", { name: "Stop db" }).click();
  await dialog.getByRole("button", { name: "Stop" }).click();
  await states(page, { db: "stopped" });
  await page.getByRole("button", { name: "Start db" }).click();
  await states(page, { db: "running" });
  await page.getByRole("status").filter({ hasText: "Start of db: done" }).first().waitFor();
  await page.getByRole("button", { name: "Restart api" }).click();
  await dialog.getByRole("button", { name: "Restart" }).click();
  await page.getByRole("status").filter({ hasText: "Restart of api: done" }).first().waitFor();
  await page.getByRole("button", { name: "More actions for backup" }).click();
  await page.getByRole("menuitem", { name: "Block", exact: true }).click();
  await states(page, { backup: "blocked" });
  await rig.command(["block", "broken"]);
  await states(page, { broken: "blocked" });
  await page.getByRole("button", { name: "More actions for web", exact: true }).click();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await dialog.getByLabel("Instances").fill("3");
  await dialog.getByRole("button", { name: "Scale" }).click();
  await page.getByRole("button", { name: "3 instances of web" }).click();
  await states(page, { "web-3": "running" });
  await page.getByRole("button", { name: "More actions for web", exact: true }).click();
  await page.getByRole("menuitem", { name: "Scale" }).click();
  await dialog.getByLabel("Instances").fill("1024");
  await dialog.getByLabel("Instances").fill("1");
  await dialog.getByRole("button", { name: "Scale" }).click();
  await page.getByRole("button", { name: "1 instance of web" }).waitFor();
  await page.route("**/processes/api/restart*", (route) =>
    route.fulfill({
      status: 409,
      json: { code: "roll-running", detail: "Cannot restart api: a reload is running", status: 409 },
    }),
  );
  await page.getByRole("button", { name: "Restart api" }).click();
  await dialog.getByRole("button", { name: "Restart" }).click();
  await page.getByRole("status").filter({ hasText: "Cannot restart api: a reload is running" }).first().waitFor();
  assert.deepEqual(rig.faults, []);
});

test("the overview is sorted, filtered and walked through by the keyboard; names of 64 characters fit", async (context) => {
  const long = `a${"-very-long-name".repeat(4)}abc`;
  assert.equal(long.length, 64);
  const rig = await started(context, [...PROCESSES, { id: long, cmd: "sleep 1000", autostart: true }]);
  if (rig === undefined) return;
  const page = await rig.open();
  const shown = (): Promise<unknown> =>
    page.evaluate("[...document.querySelectorAll('tbody tr')].map((row) => row.dataset.id).filter(Boolean)");
  await states(page, { broken: "errored" });
  await page.locator(".pinned").getByText("exited with code 3").waitFor();
  assert.deepEqual(await shown(), ["broken", "web", "db", "api", "backup", long]);
  await page.getByText("View", { exact: true }).click();
  await page.getByLabel("By group").uncheck();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Process", exact: true }).click();
  assert.deepEqual(await shown(), [long, "api", "backup", "broken", "db", "web"]);
  assert.equal(await page.locator("th[aria-sort]").getAttribute("aria-sort"), "ascending");
  await page.getByRole("button", { name: "not running" }).click();
  assert.deepEqual(await shown(), ["backup"]);
  await page.getByRole("button", { name: "6 processes" }).click();
  await page.getByLabel("Filter processes").fill("front");
  assert.deepEqual(await shown(), ["web"]);
  await page.getByLabel("Filter processes").fill("nothing like this");
  await page.getByRole("button", { name: "Show all 6" }).click();
  await row(page, "db").getByRole("link", { name: "db", exact: true }).focus();
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.evaluate("document.activeElement.textContent"), "web");
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "db", level: 1 }).waitFor();
});

test("of 5 000 processes only the rows in view are in the document; the last one is reached, and all are found", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  if (rig === undefined) return;
  const page = await rig.open();
  const many = Array.from({ length: 5_000 }, (_, index) => ({
    ...{
      id: `process-${index}`,
      type: "process",
      status: "running",
      blocked: false,
      restarts: 0,
      reason: "runs",
      pid: index + 2,
    },
    ...{ started: new Date().toISOString(), cpuPercent: 0.1, memoryBytes: 1e6 },
  }));
  await page.route("**/processes", (route) => route.fulfill({ json: many }));
  await page.route("**/metrics?*", (route) => route.fulfill({ json: [] }));
  await page.reload();
  await states(page, { "process-0": "running" });
  const inDocument = async (): Promise<number> => page.locator("tbody tr[data-id]").count();
  assert.ok((await inDocument()) < 100);
  await page.keyboard.press("End");
  await states(page, { "process-4999": "running" });
  assert.ok((await inDocument()) < 100);
  assert.equal(await page.locator("table").getAttribute("aria-rowcount"), "5001");
  await page.getByLabel("Filter processes").fill("process-4321");
  await states(page, { "process-4321": "running" });
  assert.equal(await inDocument(), 1);
});

test("one process shows why it is as it is, its incidents and its definition without secrets", async (context) => {
  const rig = await started(context, [
    ...PROCESSES,
    { id: "secretive", cmd: "sleep 1000", autostart: true, env: { API_TOKEN: "hidden-value", MODE: "shown-value" } },
  ]);
  if (rig === undefined) return;
  const page = await rig.open();
  await states(page, { broken: "errored" });
  await page.locator(".pinned").getByRole("link", { name: "broken", exact: true }).click();
  await page.getByText("broken does not run (errored)").waitFor();
  await page.getByRole("button", { name: /^Incident at/ }).click();
  await page.locator(".incident").filter({ hasText: "connect ECONNREFUSED" }).waitFor();
  await page.getByRole("link", { name: "Log at that time" }).click();
  await page.locator(".line").filter({ hasText: "connect ECONNREFUSED" }).first().waitFor();
  await page.goBack();
  await go(page, "Overview");
  await row(page, "secretive").getByRole("link", { name: "secretive", exact: true }).click();
  await page.getByText("Environment (").click();
  await page.locator(".variables").getByText("shown-value").waitFor();
  assert.ok(!(await page.content()).includes("hidden-value"));
  await go(page, "Overview");
  await row(page, "db").getByRole("link", { name: "db", exact: true }).click();
  await page.locator(".dependencies").getByRole("link", { name: "api" }).click();
  await page.getByRole("heading", { name: "api", level: 1 }).waitFor();
  await go(page, "Incidents");
  await page.locator("summary").filter({ hasText: "broken" }).click();
  await page.locator(".incident").filter({ hasText: "exited with code 3" }).waitFor();
  assert.deepEqual(rig.faults, []);
});

test("the plan shows what the edited file would do, problems with their places, and a reload that does it", async (context) => {
  const rig = await started(context);
  if (rig === undefined) return;
  const page = await rig.open();
  await go(page, "Changes");
  // The page looks at the file every few seconds, and when it is opened.
  const again = async (): Promise<void> => {
    await go(page, "Overview");
    await go(page, "Changes");
  };
  await page.getByText("No reload since procman was started.").waitFor();
  await page.getByText(/^No changes: the running configuration matches the file/).waitFor();
  const file = join(rig.folder, "procman.json");
  const config = JSON.parse(readFileSync(file, "utf8")) as { processes: ProcessConfig[] };
  writeFileSync(file, JSON.stringify({ ...config, processes: [{ id: "web", cdm: "sleep 1" }] }, undefined, 2));
  await again();
  await page.getByText("procman.json:5:7 processes[0].cdm").waitFor();
  assert.deepEqual(await rig.axe(page), []);
  writeFileSync(
    file,
    JSON.stringify({
      ...config,
      processes: [...config.processes.slice(1), { id: "added", cmd: "sleep 1000", autostart: true }],
    }),
  );
  await again();
  await page.getByRole("row").filter({ hasText: "added" }).filter({ hasText: "start" }).waitFor();
  await page.getByRole("row").filter({ hasText: "web-1" }).filter({ hasText: "stop" }).waitFor();
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Reload" }).click();
  await page.getByRole("status").filter({ hasText: "Reloaded" }).first().waitFor();
  await page.getByText(/^Last reload .+, asked by dashboard of cli: it was applied\.$/).waitFor();
  await go(page, "Overview");
  await states(page, { added: "running" });
  assert.equal(await row(page, "web").count(), 0);
});

test("a token that is revoked while the page is open ends the session, and the page says so", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  if (rig === undefined) return;
  const page = await rig.open();
  const file = join(rig.folder, "procman.json");
  writeFileSync(
    file,
    JSON.stringify({ ...(JSON.parse(readFileSync(file, "utf8")) as object), api: { revoked: ["dashboard"] } }),
  );
  await page.getByRole("alert").filter({ hasText: 'the tokens of the consumer "dashboard" are revoked' }).waitFor();
  assert.equal(await page.evaluate("sessionStorage.length"), 0);
});

test("a service that is killed is found again by itself, and what happened meanwhile is shown", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  if (rig === undefined) return;
  const page = await rig.open();
  await states(page, { web: "running" });
  const service = rig.procman.helper("service");
  process.kill(service, "SIGSTOP");
  process.kill(service, "SIGKILL");
  await processExit(service);
  await page
    .locator(".connection.lost")
    .filter({ hasText: /Connection lost, again in \d+ s/ })
    .waitFor();
  await page.locator(".connection.live").waitFor();
  await rig.command(["stop", "web"]);
  await states(page, { web: "stopped" });
  const { faults } = rig;
  assert.deepEqual(faults, []);
});

test("a tab that is hidden for a while gives up its connection, and shows what happened meanwhile when it is visible again", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  if (rig === undefined) return;
  const page = await rig.open();
  await page.clock.install();
  await page.reload();
  await states(page, { web: "running" });
  const hide = (isHidden: boolean): Promise<unknown> =>
    page.evaluate(
      `Object.defineProperty(document, "hidden", { value: ${isHidden}, configurable: true }); document.dispatchEvent(new Event("visibilitychange"))`,
    );
  const ended = page.waitForEvent("requestfailed", (request) => request.url().includes("/events"));
  await hide(true);
  await page.clock.fastForward(31_000);
  await ended;
  await rig.command(["stop", "web"]);
  const again = page.waitForRequest((request) => request.url().includes("/events"));
  await hide(false);
  await again;
  await states(page, { web: "stopped" });
  await rig.command(["start", "web"]);
  await states(page, { web: "running" });
});

test("after procman has ended the page says so, and keeps the last values with their age", async (context) => {
  const rig = await started(context, [{ id: "web", cmd: "sleep 1000", autostart: true }]);
  if (rig === undefined) return;
  const page = await rig.open();
  await states(page, { web: "running" });
  await rig.procman.stop();
  await page
    .locator(".connection.lost")
    .filter({ hasText: /^procman has ended; values are \d+ s old$/ })
    .waitFor();
  await page.locator(".banner").filter({ hasText: "procman has ended, and its processes with it." }).waitFor();
  await row(page, "web").waitFor();
  await go(page, "Logs");
  await page.locator(".banner").waitFor();
  assert.equal(await page.getByText(/Failed to fetch/).count(), 0);
  assert.deepEqual(await rig.axe(page), []);
});
