/** A real Chromium that shows the dashboard of a real procman, opened by `procman dashboard`. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { AxeResults } from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { type Outcome, procman } from "../support/cli.ts";
import { type ProcessConfig, type Procman, startProcman } from "../support/procman-process.ts";
import { ROOT } from "../support/product.ts";

/** Time limit of each wait for something on a page. Milliseconds. */
const PATIENCE_MS = 20_000;
const PROGRAM = "/usr/bin/chromium";
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
/** Not in git. */
const PICTURES = join(ROOT, "results/dashboard");
const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core"), "utf8");

/** The program that `procman dashboard` starts instead of a browser: it writes the address down. */
const RECORDER = '#!/bin/sh\nprintf %s "$1" > "$PROCMAN_TEST_OPENED"\n';

/** Of WCAG 2.2 AA, and what axe recommends beyond. */
const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
/** Runs in each page. */
const REPORT_VIOLATIONS = `addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI, sample }) =>
  console.error("Content Security Policy: " + violatedDirective + " " + blockedURI + " " + sample));`;

let running: Promise<Browser> | undefined;

/** One for all tests of a file; `closeBrowser` ends it. */
function browser(): Promise<Browser> {
  running ??= chromium.launch({ executablePath: PROGRAM, args: ARGUMENTS, headless: true });
  return running;
}

export async function closeBrowser(): Promise<void> {
  await (await running)?.close();
  running = undefined;
}

export class DashboardRig {
  readonly context: TestContext;
  readonly procman: Procman;
  /** What must not happen on a page: violations of the policy, errors, requests to elsewhere. */
  readonly faults: string[] = [];

  constructor(context: TestContext, started: Procman) {
    this.context = context;
    this.procman = started;
  }

  static async start(
    context: TestContext,
    processes: readonly ProcessConfig[],
    config: object = {},
  ): Promise<DashboardRig> {
    const started = await startProcman(context, processes, { config: { name: "shop", ...config } });
    const rig = new DashboardRig(context, started);
    await started.line(/started|running|runs/i);
    // A warning about the file may have these words, too.
    await started.successor(0);
    return rig;
  }

  get folder(): string {
    return this.procman.folder;
  }

  /** The command; without a desktop it prints the link. */
  dashboard(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
    return procman(this.folder, ["dashboard", ...args], {
      DISPLAY: "",
      WAYLAND_DISPLAY: "",
      SSH_CONNECTION: "",
      SUDO_USER: "",
      BROWSER: "",
      ...env,
    });
  }

  command(args: readonly string[]): Promise<Outcome> {
    return procman(this.folder, args);
  }

  /** What a user sees who types `procman dashboard` on a desktop. */
  async open(options: BrowserContextOptions = {}, args: readonly string[] = []): Promise<Page> {
    const [program, opened] = [join(this.folder, "browser.sh"), join(this.folder, "opened")];
    writeFileSync(program, RECORDER, { mode: 0o755 });
    const { code, err } = await this.dashboard(args, { BROWSER: program, PROCMAN_TEST_OPENED: opened });
    assert.equal(code, 0, err);
    const page = await this.page(options);
    await page.goto(readFileSync(opened, "utf8"));
    await page.locator(".connection.live").waitFor();
    return page;
  }

  /** An empty tab in a browser without cookies or storage. */
  async page(options: BrowserContextOptions = {}): Promise<Page> {
    const made = await (await browser()).newContext({ viewport: { width: 1280, height: 800 }, ...options });
    this.context.after(() => made.close());
    made.setDefaultTimeout(PATIENCE_MS);
    const page = await made.newPage();
    await page.addInitScript({ content: REPORT_VIOLATIONS });
    page.on("pageerror", (error) => this.faults.push(`error: ${error.stack ?? error.message}`));
    page.on("console", (message) => {
      const text = message.text();
      if (/Content Security Policy|Trusted/i.test(text)) this.faults.push(text);
    });
    page.on("request", (request) => {
      const { protocol, hostname } = new URL(request.url());
      if (!(protocol === "http:" && hostname === "127.0.0.1") && protocol !== "file:" && protocol !== "blob:")
        this.faults.push(`request to ${request.url()}`);
      if (/token=|code=/.test(request.url().split("#")[0] ?? "")) this.faults.push(`a secret in ${request.url()}`);
    });
    return page;
  }

  /** Waits until the page has its data. */
  async settled(page: Page, name: string): Promise<void> {
    const ready: Readonly<Record<string, string>> = {
      Logs: ".line",
      Incidents: ".group",
      Changes: ".file",
      System: ".card",
    };
    await page
      .locator(ready[name] ?? ".badge")
      .first()
      .waitFor();
  }

  /** Violations of WCAG 2.2 AA that axe finds. `rules`: names or tags. Default: all. */
  async axe(page: Page, rules: readonly string[] = RULES): Promise<readonly string[]> {
    if (await page.evaluate("globalThis.axe === undefined")) await page.evaluate(AXE);
    const { violations }: AxeResults = await page.evaluate(`axe.run({ runOnly: ${JSON.stringify(rules)} })`);
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .slice(0, 3)
          .map(({ html, failureSummary }) => `${html.slice(0, 160)} (${failureSummary?.replaceAll("\n", " ")})`)
          .join("; ")}`,
    );
  }

  async picture(page: Page, name: string): Promise<void> {
    mkdirSync(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `${name}.png`) });
  }
}

/** Goes to a page by its link in the navigation. */
export async function go(page: Page, name: string): Promise<void> {
  await page.getByRole("navigation").getByRole("link", { name, exact: true }).click();
}
