/** `npm run docs`: the site builds, each link and anchor is there, and a browser finds pages by a search without asking another server. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { before, type TestContext, test } from "node:test";
import { chromium, type Page } from "playwright-core";
import { NAVIGATION } from "../../site/navigation.mjs";
import { ROOT } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";

const SITE = join(ROOT, "results/site");
const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
};

before(() => {
  execFileSync(process.execPath, ["scripts/docs.mjs"], { cwd: ROOT, stdio: "inherit" });
});

/** As any web server for files. @returns its origin */
async function serve(context: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? "/", "http://localhost");
    const file = join(SITE, pathname.endsWith("/") ? `${pathname}index.html` : pathname);
    if (!existsSync(file)) return response.writeHead(404).end();
    return response
      .writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" })
      .end(readFileSync(file));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  context.after(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** `faults`: errors, missing files, and requests to elsewhere. */
async function open(
  context: TestContext,
  origin: string,
): Promise<{ readonly page: Page; readonly faults: readonly string[] }> {
  const browser = await chromium.launch({
    executablePath: "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu"],
  });
  context.after(() => browser.close());
  const page = await browser.newPage();
  const faults: string[] = [];
  page.on("pageerror", ({ message }) => faults.push(message));
  page.on("request", (request) => request.url().startsWith(origin) || faults.push(`request to ${request.url()}`));
  page.on("response", (response) => response.status() < 400 || faults.push(`${response.status()} ${response.url()}`));
  await page.goto(origin);
  return { page, faults };
}

test("all pages of the navigation show without an error, and load nothing from elsewhere", async (context) => {
  if (isMissing(context, "chromium")) return;
  const origin = await serve(context);
  const { page, faults } = await open(context, origin);
  for (const name of NAVIGATION.flatMap(({ pages }) => pages)) {
    await page.goto(`${origin}/${name}.html`, { waitUntil: "networkidle" });
    const [, title] = /^# (.*)$/m.exec(readFileSync(join(ROOT, `${name}.md`), "utf8")) ?? [];
    assert.ok((await page.locator("h1").first().innerText()).startsWith(title?.replaceAll("`", "") ?? ""), name);
  }
  assert.deepEqual(faults, []);
});

test("a search finds a field of the configuration, and leads to it", async (context) => {
  if (isMissing(context, "chromium")) return;
  const { page, faults } = await open(context, await serve(context));
  await page.locator(".VPNavBarSearch button").first().click();
  await page.locator(".search-input").fill("restartResetMs");
  const found = page.locator(".results a").first();
  await found.waitFor();
  await found.click();
  await page.waitForURL(/\/docs\/\w+\/[\w-]+\.html/);
  await page.locator("main").getByText("restartResetMs").first().waitFor();
  assert.deepEqual(faults, []);
});

test("an address of 1.0.0 leads on to the page of today, with its anchor", async (context) => {
  if (isMissing(context, "chromium")) return;
  const origin = await serve(context);
  const { page, faults } = await open(context, origin);
  await page.goto(`${origin}/docs/cli.html#exit-codes`);
  await page.waitForURL(`${origin}/docs/reference/cli.html#exit-codes`);
  await page.locator("#exit-codes").waitFor();
  assert.deepEqual(faults, []);
});
