/**
 * `npm run pictures`: makes the pictures in docs/images, after a build. The pages are those of a running procman in a
 * real Chromium; values and times are fixed, so that a picture changes only when the look does.
 */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import type { StateRecord } from "../src/core/contract/state-record.ts";
import { monitorSvg } from "./monitor-svg.ts";
import { withPalette } from "./palette-png.ts";
import { DEFINITION, INCIDENTS, logEntries, metricPoints, NOW, RECORDS } from "./picture-data.ts";

const ROOT = join(import.meta.dirname, "..");
const IMAGES = join(ROOT, "docs/images");
const CHROMIUM = process.env.CHROMIUM ?? "/usr/bin/chromium";
const MAX_BYTES = 80_000;
/** Height of each picture. Pixels. */
const WIDTH = 1_100;
const HEIGHTS = { overview: 560, process: 990, logs: 500 };
/** Of the log, so that a page is full. */
const LINES = 160;
const STARTED = new Date(NOW - 9_300_000).toISOString();

/** The same processes, none of which starts by itself: nothing changes while a picture is taken. */
const CONFIG = { name: "shop", processes: RECORDS.map(({ id }) => ({ id, cmd: "sleep 1000" })) };

/** In a page: the log is followed from these lines on, and brings no others. */
const FOLLOW = `
  const send = fetch;
  const entries = ${JSON.stringify(logEntries(LINES))};
  globalThis.fetch = (input, init) => {
    const { pathname, searchParams } = new URL(String(input.url ?? input), location.href);
    if (!pathname.endsWith("/logs") || !searchParams.has("follow")) return send(input, init);
    const processes = searchParams.getAll("process").flatMap((ids) => ids.split(","));
    const events = entries
      .filter(({ process }) => processes.length === 0 || processes.includes(process))
      .map((entry, index) => "id: " + index + "\\ndata: " + JSON.stringify({ type: "entry", entry, cursor: String(index) }) + "\\n\\n");
    const body = new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode(events.join(""))) });
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };
`;

await main();

async function main(): Promise<void> {
  mkdirSync(IMAGES, { recursive: true });
  writeFileSync(join(IMAGES, "monitor.svg"), monitorSvg());
  const folder = mkdtempSync(join(tmpdir(), "procman-pictures-"));
  writeFileSync(join(folder, "procman.json"), JSON.stringify(CONFIG));
  await procman(folder, "run", "--detach");
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
  try {
    for (const colorScheme of ["light", "dark"] as const) {
      const context = await browser.newContext({
        viewport: { width: WIDTH, height: HEIGHTS.logs },
        colorScheme,
        timezoneId: "UTC",
        reducedMotion: "reduce",
      });
      await takePictures(context, folder, colorScheme);
      await context.close();
    }
  } finally {
    await browser.close();
    await procman(folder, "terminate");
    rmSync(folder, { recursive: true });
  }
}

async function procman(folder: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [join(ROOT, "dist/procman.cjs"), ...args], {
    cwd: folder,
  });
  return stdout;
}

async function takePictures(context: BrowserContext, folder: string, colorScheme: "light" | "dark"): Promise<void> {
  await fixValues(context);
  const page = await context.newPage();
  const link = /http\S+#code=\S+/.exec(await procman(folder, "dashboard", "--no-open"))?.[0] ?? "";
  await page.goto(link);
  await page.locator(".connection.live").waitFor();
  await page.locator('tr[data-id="worker"] .sparkline path[d^="M"]').first().waitFor();
  await picture(page, "overview", colorScheme);
  await page.locator('tr[data-id="web"] a.id').click();
  await page.locator(".charts canvas").first().waitFor();
  await page.getByRole("heading", { name: "Configuration" }).waitFor();
  await page.locator(".tail .line").filter({ hasText: "/orders" }).last().waitFor();
  await picture(page, "process", colorScheme);
  await page.evaluate("location.hash = '#/logs'");
  await page.locator(".line").filter({ hasText: "slow query" }).last().waitFor();
  await picture(page, "logs", colorScheme);
}

async function picture(page: Page, name: keyof typeof HEIGHTS, colorScheme: string): Promise<void> {
  const path = join(IMAGES, `${name}-${colorScheme}.png`);
  await page.setViewportSize({ width: WIDTH, height: HEIGHTS[name] });
  // No row is pointed at.
  await page.mouse.move(0, 0);
  const png = await withPalette(page.context(), await page.screenshot());
  if (png.length > MAX_BYTES) throw new Error(`${path} has ${png.length} bytes, more than ${MAX_BYTES}`);
  writeFileSync(path, png);
}

/** Answers of the API with the fixed values; the stream of events is real, and brings nothing. */
async function fixValues(context: BrowserContext): Promise<void> {
  await context.route(/\/processes$/, (route) => route.fulfill({ json: RECORDS }));
  await context.addInitScript({ content: FOLLOW });
  await context.route(/\/incidents/, (route) => route.fulfill({ json: INCIDENTS }));
  await context.route(/\/definition$/, (route) => route.fulfill({ json: [DEFINITION] }));
  await context.route(/\/metrics\?/, (route) => {
    const { pathname, searchParams } = new URL(route.request().url());
    const id = pathname.split("/").at(-2) ?? "";
    return route.fulfill({
      json: metricPoints(id, Number(searchParams.get("from")), Number(searchParams.get("step") ?? 5)),
    });
  });
  await context.route(/\/state$/, async (route) => {
    const state = (await (await route.fetch()).json()) as StateRecord;
    await route.fulfill({ json: { ...state, started: STARTED, updated: new Date(NOW).toISOString() } });
  });
  await context.route(/\/logs\?/, (route) => route.fulfill({ json: [] }));
}
