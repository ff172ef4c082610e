// the dashboard in a real Chromium, as `procman dashboard` opens it
import { existsSync } from 'node:fs';
import { nowMs } from './common.mjs';
const PROGRAM = '/usr/bin/chromium';

/** Milliseconds from a link with its sign-in code to the first rows of `n` processes; undefined without Chromium. Then `whileOpen()` is called. */
export async function openDashboard(link, n, whileOpen) {
  if (!existsSync(PROGRAM)) return undefined;
  const { chromium } = await import('playwright-core');
  const browser = await chromium.launch({ executablePath: PROGRAM, args: ['--no-sandbox', '--disable-gpu', '--no-first-run'], headless: true });
  try {
    const page = await browser.newPage();
    const t0 = nowMs();
    await page.goto(link);
    await page.locator(`table[aria-rowcount="${n + 1}"] tr[data-id="s0"]`).waitFor();
    const ms = nowMs() - t0;
    await whileOpen();
    return ms;
  } finally { await browser.close(); }
}
