/** The log page in a real Chromium. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import type { Page } from "playwright-core";
import { eventually } from "../support/procman-process.ts";
import { isMissing } from "../support/system-programs.ts";
import { closeBrowser, DashboardRig, go } from "./dashboard-rig.ts";

after(closeBrowser);

/** Prints numbered lines as fast as it is told to: `print.cjs COUNT` at once, then one for each file `more` that appears. */
const PRINT = `
const { existsSync, rmSync } = require("node:fs");
let number = 0;
const print = (count) => { let text = ""; for (let i = 0; i < count; i += 1) text += "line " + (number += 1) + "\\n"; process.stdout.write(text); };
print(Number(process.argv[2]));
setInterval(() => { if (existsSync("more")) { rmSync("more"); print(3); } }, 20);
`;

async function opened(
  context: TestContext,
  count: number,
): Promise<{ readonly rig: DashboardRig; readonly page: Page } | undefined> {
  if (isMissing(context, "chromium")) return undefined;
  const rig = await DashboardRig.start(context, [
    { id: "printer", cmd: `${process.execPath} print.cjs ${count}` },
    { id: "other", cmd: "echo other; sleep 1000" },
  ]);
  writeFileSync(join(rig.folder, "print.cjs"), PRINT);
  await rig.command(["start", "all"]);
  const page = await rig.open();
  await go(page, "Logs");
  await page
    .locator(".line")
    .filter({ hasText: `line ${count}` })
    .first()
    .waitFor();
  return { rig, page };
}

/** What a function that runs in the page finds; this program has no types of browsers. */
type PageGlobals = {
  readonly document: { readonly querySelector: (selector: string) => { readonly textContent: string } | null };
};

const lines = (page: Page): Promise<readonly string[]> => page.locator(".line .text").allTextContents();

async function scrollToTop(page: Page): Promise<void> {
  await page.evaluate("document.querySelector('.log-lines').scrollTop = 0");
}

test("the end is followed; scrolled away, new lines are counted, and the page stays where it is", async (context) => {
  const { rig, page } = (await opened(context, 2_000)) ?? {};
  if (rig === undefined || page === undefined) return;
  writeFileSync(join(rig.folder, "more"), "");
  await page
    .locator(".line")
    .filter({ hasText: /line 2003$/ })
    .waitFor();
  await page.mouse.move(600, 400);
  await page.mouse.wheel(0, -3_000);
  await page.getByRole("button", { name: /Follow/ }).waitFor();
  const before = await lines(page);
  writeFileSync(join(rig.folder, "more"), "");
  await page.getByRole("button", { name: "3 new lines" }).waitFor();
  assert.deepEqual(await lines(page), before);
  await page.getByRole("button", { name: "3 new lines" }).click();
  await page
    .locator(".line")
    .filter({ hasText: /line 2006$/ })
    .waitFor();
  assert.deepEqual(rig.faults, []);
});

test("earlier lines are loaded while scrolling up, to the first one, without gap or repeat", async (context) => {
  const { rig, page } = (await opened(context, 2_000)) ?? {};
  if (rig === undefined || page === undefined) return;
  await page.getByText("All processes", { exact: true }).first().click();
  await page.getByLabel("printer").check();
  await page.getByLabel("Severity").selectOption("warn");
  await page.getByText("No matches.").waitFor();
  await page.getByLabel("Severity").selectOption("");
  await page.locator(".line").filter({ hasText: "line 2000" }).waitFor();
  const first = (): Promise<string | null> => page.locator(".line .text").first().textContent();
  for (let top = await first(); !/^line 1$|^started/.test(top ?? ""); top = await first()) {
    await scrollToTop(page);
    await page.waitForFunction(
      (before) => (globalThis as unknown as PageGlobals).document.querySelector(".line .text")?.textContent !== before,
      top,
    );
  }
  const numbers = (await lines(page)).flatMap((text) => /^line (\d+)$/.exec(text)?.[1] ?? []).map(Number);
  assert.deepEqual(
    numbers,
    Array.from(numbers, (_, index) => index + 1),
  );
  assert.deepEqual(rig.faults, []);
});

test("hits are marked and stepped through, beyond the loaded lines too; only lines with hits are shown on demand", async (context) => {
  const { rig, page } = (await opened(context, 3_000)) ?? {};
  if (rig === undefined || page === undefined) return;
  const find = page.getByLabel(/^Find in the log/);
  await find.fill("LINE 7");
  await page.getByRole("button", { name: "Previous match" }).click();
  await page
    .locator(".line.current")
    .filter({ hasText: /line 7/ })
    .waitFor();
  assert.equal(await page.locator(".line mark").first().textContent(), "line 7");
  await page.getByRole("button", { name: "Only matches" }).click();
  await page
    .locator(".line")
    .filter({ hasNotText: /line 7/ })
    .first()
    .waitFor({ state: "detached" });
  await page.locator(".line mark").first().waitFor();
  const shown = await lines(page);
  assert.ok(shown.length > 0 && shown.every((text) => /line 7/.test(text)));
  assert.deepEqual(rig.faults, []);
});

test("the lines of the filter are downloaded, all of them", async (context) => {
  const { rig, page } = (await opened(context, 12_000)) ?? {};
  if (rig === undefined || page === undefined) return;
  await page.evaluate("location.hash = '#/logs?process=printer'");
  await page.locator(".line").filter({ hasText: "line 12000" }).waitFor();
  const waiting = page.waitForEvent("download");
  await page.getByRole("button", { name: /Download/ }).click();
  const file = await (await waiting).path();
  const numbers = readFileSync(file, "utf8")
    .split("\n")
    .flatMap((line) => /printer line (\d+)$/.exec(line)?.[1] ?? []);
  assert.equal(numbers.length, 12_000);
  assert.ok(!readFileSync(file, "utf8").includes(" other "));
});

const HOSTILE = [
  '<img src=x onerror="document.title=1"><script>document.title=2</script>',
  "\u001b[31mred\u001b[0m \u001b[2J\u001b]0;title\u0007 \u001b[999;1mx",
  "abc\u202etxt.exe \u2066isolated \u200fright",
  "a\u0000b\u0008c",
  '{"json":"<b>bold</b>","__proto__":{"polluted":true},"n":1}',
  `long ${"x".repeat(10_000_000)} end`,
  "</div></main><h1>injected</h1>",
  "javascript:alert(1) {{constructor.constructor('document.title=3')()}}",
];

test("hostile lines are only text: no markup, no control, no other direction, no stall", async (context) => {
  if (isMissing(context, "chromium")) return;
  const rig = await DashboardRig.start(context, [{ id: "evil", cmd: `${process.execPath} evil.cjs` }]);
  writeFileSync(
    join(rig.folder, "evil.cjs"),
    `process.stdout.write(${JSON.stringify(`${HOSTILE.join("\n")}\nlast\n`)}); setInterval(() => {}, 1000);`,
  );
  await rig.command(["start", "evil"]);
  const page = await rig.open();
  await go(page, "Logs");
  await page
    .locator(".line")
    .filter({ hasText: /^.*last$/ })
    .waitFor();
  // A line of 10 MB is stored in parts of 1 MB, so the first lines come with an earlier page.
  await page
    .locator(".line")
    .filter({ hasText: HOSTILE[0] ?? "" })
    .waitFor();
  const text = (await lines(page)).join("\n");
  assert.ok(text.includes(HOSTILE[0] ?? "") && text.includes("</div></main><h1>injected</h1>"));
  assert.ok(
    text.includes("abc<U+202E>txt.exe <U+2066>isolated <U+200F>right") &&
      text.includes("a␀b␈c") &&
      text.includes("␛[2J␛]0;title␇"),
  );
  assert.ok(!/[\0\u001b\u202e]/.test(text));
  assert.equal(await page.locator(".line .c1").first().textContent(), "red");
  assert.equal(await page.locator(".log-lines :is(img, script, h1, b)").count(), 0);
  assert.equal(await page.title(), "shop – Logs");
  await page
    .locator(".line")
    .filter({ hasText: '"json"' })
    .getByRole("button", { name: "Show the whole line" })
    .click();
  await page.locator("pre.json").filter({ hasText: '"<b>bold</b>"' }).waitFor();
  assert.equal(await page.evaluate("({}).polluted"), undefined);
  await page.getByRole("button", { name: "Wrap long lines" }).click();
  await page
    .getByText(/more characters/)
    .first()
    .waitFor();
  const end = page.locator(".line").filter({ hasText: /^.*last$/ });
  await end.waitFor();
  const { y = 0 } = (await end.boundingBox()) ?? {};
  assert.ok(y > 100 && y < 800, `the end is in view, at ${y}`);
  assert.deepEqual(await rig.axe(page), []);
  await rig.picture(page, "logs-hostile");
  assert.deepEqual(rig.faults, []);
});

const LEVELS = [
  '{"level":"warn","msg":"slow query","ms":912}',
  '{"level":50,"msg":"no connection","host":"db"}',
  "info GET /items/520",
  "2026-11-26 11:14:35,071 ERROR cannot connect",
  "an error of the user",
];

test("levels that lines name are shown, members of JSON beside the message; a hit is marked in the line as it was written", async (context) => {
  if (isMissing(context, "chromium")) return;
  const rig = await DashboardRig.start(context, [
    {
      id: "app",
      cmd: `printf '%s\\n' ${LEVELS.map((line) => `'${line}'`).join(" ")}; exec sleep 1000`,
      autostart: true,
    },
  ]);
  const page = await rig.open();
  await go(page, "Logs");
  const line = (text: string) => page.locator(".line").filter({ hasText: text });
  await page
    .locator(".line.warn")
    .filter({ hasText: /WARN slow query ms=912$/ })
    .waitFor();
  await page
    .locator(".line.error")
    .filter({ hasText: /ERROR no connection host=db$/ })
    .waitFor();
  await page.locator(".line.error").filter({ hasText: "cannot connect" }).waitFor();
  await page.locator(".line.info").filter({ hasText: "an error of the user" }).waitFor();
  await page.getByLabel("Severity").selectOption("warn");
  await line("an error of the user").waitFor({ state: "detached" });
  await line("slow query").waitFor();
  await line("no connection").waitFor();
  await page.getByLabel("Severity").selectOption("");
  await line("an error of the user").waitFor();
  await line("slow query").getByRole("button", { name: "Show the whole line" }).click();
  await page.locator("pre.json").filter({ hasText: '"ms": 912' }).waitFor();
  await page.getByLabel(/^Find in the log/).fill('"msg":"slow');
  await line('{"level":"warn","msg":"slow query","ms":912}').locator("mark").waitFor();
  assert.deepEqual(await rig.axe(page), []);
  assert.deepEqual(rig.faults, []);
});

test("on a phone lines are wrapped, most of the screen is lines, and nothing is written over the controls", async (context) => {
  if (isMissing(context, "chromium")) return;
  const long = `begin ${"word ".repeat(40)}end`;
  const rig = await DashboardRig.start(context, [
    { id: "app", cmd: `echo '${long}'; exec sleep 1000`, autostart: true },
  ]);
  const page = await rig.open({ viewport: { width: 360, height: 740 } });
  await go(page, "Logs");
  const line = page.locator(".line").filter({ hasText: "begin word" });
  await line.waitFor();
  const [text, list, bar] = [
    await line.locator(".text").boundingBox(),
    await page.locator(".log-lines").boundingBox(),
    await page.locator(".log-bar").boundingBox(),
  ];
  assert.ok((text?.x ?? 0) + (text?.width ?? 999) <= 360 && (text?.height ?? 0) > 40, "all of the line is in view");
  assert.ok((bar?.height ?? 999) <= 90, `the controls have ${bar?.height} pixels`);
  assert.ok((list?.height ?? 0) >= 500, `the lines have ${list?.height} pixels`);
  await page.getByLabel(/^Find in the log/).fill("nothing like this");
  await page.getByRole("button", { name: "Only matches" }).click();
  const empty = page.getByText("No matches.");
  await empty.waitFor();
  const { y = 0 } = (await empty.boundingBox()) ?? {};
  assert.ok(y > (list?.y ?? 999), "the text is inside of the list");
  assert.deepEqual(await rig.axe(page), []);
  assert.deepEqual(rig.faults, []);
});

test("following and pausing are said; a time is typed by a clock of 24 hours", async (context) => {
  const { rig, page } = (await opened(context, 2_000)) ?? {};
  if (rig === undefined || page === undefined) return;
  const state = page.getByRole("status").filter({ hasText: /^(?:Following|Paused)$/ });
  await state.filter({ hasText: "Following" }).waitFor();
  await page.mouse.move(600, 400);
  await page.mouse.wheel(0, -3_000);
  await state.filter({ hasText: "Paused" }).waitFor();
  await page.getByRole("button", { name: "Show the newest lines" }).click();
  await state.filter({ hasText: "Following" }).waitFor();
  await page.getByText("Time", { exact: true }).click();
  await page.getByLabel("Time to jump to").fill("2:03 pm");
  await page.getByRole("button", { name: "Jump" }).click();
  await page.getByText('Write 14:03, 14:03:27 or 2026-11-27 14:03, not "2:03 pm".').waitFor();
  await page.getByLabel("Time to jump to").fill("2024-02-29 23:05");
  await page.getByRole("button", { name: "Jump" }).click();
  await page.waitForURL(/[?&]at=/);
  const at = String(
    await page.evaluate("new Date(new URLSearchParams(location.hash.split('?')[1]).get('at')).toString()"),
  );
  assert.match(at, /Feb 29 2024 23:05:00/);
  assert.deepEqual(await rig.axe(page), []);
  assert.deepEqual(rig.faults, []);
});

/** Pixels that are below the view. */
const DISTANCE = `(() => {
  const { scrollTop, clientHeight, scrollHeight } = document.querySelector(".log-lines");
  return Math.abs(scrollHeight - clientHeight - scrollTop);
})()`;

test("the end stays in view when the window gets smaller or larger, and a phone is turned", async (context) => {
  const { rig, page } = (await opened(context, 500)) ?? {};
  if (rig === undefined || page === undefined) return;
  await page.locator(".follow-state").filter({ hasText: "Following" }).waitFor();
  for (const [width, height] of [
    [1_280, 400],
    [1_280, 900],
    [360, 740],
    [740, 360],
  ] as const) {
    await page.setViewportSize({ width, height });
    const isAtEnd = async (): Promise<true | undefined> => Number(await page.evaluate(DISTANCE)) < 2 || undefined;
    await eventually(isAtEnd, { what: `the end at ${width} x ${height}` });
  }
  assert.deepEqual(rig.faults, []);
});
