/** How fast the dashboard is, in a real Chromium. */
import { after, test } from "node:test";
import type { Page, Route } from "playwright-core";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { isMissing } from "../support/system-programs.ts";
import { closeBrowser, DashboardRig } from "./dashboard-rig.ts";

after(closeBrowser);

const PROCESSES = 500;
const ROUNDS = 8;

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}

/** Notes when each state of the process appears. */
const WATCH_BADGE = `
  globalThis.appeared = {};
  const look = () => {
    const text = document.querySelector('tr[data-id="web"] .badge')?.textContent ?? "";
    if (text !== globalThis.shown) { globalThis.shown = text; globalThis.appeared[text] = Date.now(); }
  };
  new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
`;

test("a change of state is on the screen within 100 ms", async (context) => {
  if (isMissing(context, "chromium")) return;
  const rig = await DashboardRig.start(context, [{ id: "web", cmd: "exec sleep 1000", autostart: true }]);
  const page = await rig.open();
  await page.locator('tr[data-id="web"] .badge').filter({ hasText: "running" }).waitFor();
  await page.evaluate(WATCH_BADGE);
  const delays: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [command, status] = round % 2 === 0 ? (["stop", "stopped"] as const) : (["start", "running"] as const);
    await page.evaluate("globalThis.appeared = {}");
    const [record] = JSON.parse((await rig.command([command, "web", "--json"])).out) as readonly ProcessRecord[];
    await page.locator('tr[data-id="web"] .badge').filter({ hasText: status }).waitFor();
    const appeared = (await page.evaluate("globalThis.appeared")) as Readonly<Record<string, number>>;
    delays.push((appeared[status] ?? Number.NaN) - Date.parse(record?.updated ?? ""));
  }
  assertWithin(100, median(delays), `a change (of ${delays})`);
});

/** All processes, each with other values at each request. */
async function withOtherValues(route: Route, round: number): Promise<void> {
  const records = (await (await route.fetch()).json()) as readonly ProcessRecord[];
  await route.fulfill({
    json: records.map((record) => ({
      ...record,
      cpuPercent: round,
      memoryBytes: round * 1e6,
      reason: `round ${round}`,
    })),
  });
}

async function scriptMs(page: Page, call: () => Promise<void>): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const used = async (): Promise<number> =>
    1_000 *
    ((await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "ScriptDuration")?.value ??
      Number.NaN);
  const before = await used();
  await call();
  return (await used()) - before;
}

test(`all rows of ${PROCESSES} processes are updated in under 16 ms of script`, async (context) => {
  if (isMissing(context, "chromium")) return;
  const processes = Array.from({ length: PROCESSES }, (_, index) => ({ id: `p${index}`, cmd: "sleep 1000" }));
  const rig = await DashboardRig.start(context, processes);
  const page = await rig.open();
  await page.locator('tr[data-id="p1"]').waitFor();
  let round = 0;
  await page.route(/\/processes$/, (route) => withOtherValues(route, round));
  const took: number[] = [];
  for (round = 1; round <= ROUNDS; round += 1)
    took.push(
      await scriptMs(page, async () => {
        await page.evaluate('document.dispatchEvent(new Event("visibilitychange"))');
        await page
          .locator('tr[data-id="p1"] .reason')
          .filter({ hasText: `round ${round}` })
          .waitFor();
      }),
    );
  assertWithin(16, Math.min(...took), `an update (of ${took.map(Math.round)})`);
});
