/** Every example of every page runs as printed, with the packed product, in a fresh folder. */
import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import { parse } from "jsonc-parser";
import { skip } from "../support/skip.ts";
import { isMissing } from "../support/system-programs.ts";
import { differenceOf } from "./expected-output.ts";
import { type Block, blocksOf, PAGES } from "./page-blocks.ts";
import { PageRig } from "./page-rig.ts";
import { SETTINGS, type Setting } from "./page-settings.ts";

/** Pages, and blocks of a page, that run at the same time: they wait more than they compute. */
const TOGETHER = { pages: 2, blocks: 3 };

/** Time limit of a block. Milliseconds. */
const BLOCK_MS = 120_000;

const WEB = '{ "id": "web", "cmd": "node server.js", "autostart": true }';
const ORDINARY = `{ "processes": [${WEB}] }`;

type Kind = (rig: PageRig, block: Block, setting: Partial<Setting>) => Promise<void>;

const KINDS: { readonly [language: string]: Kind } = {
  jsonc: runConfiguration,
  json: runConfiguration,
  sh: runShell,
  console: runShell,
  js: runProgram,
};

const only = process.env.PROCMAN_TEST_PAGES?.split(",");

describe("pages", { concurrency: TOGETHER.pages }, () => {
  for (const page of PAGES.filter((name) => only?.includes(name) ?? true))
    test(page, { concurrency: TOGETHER.blocks }, async (context) => {
      const blocks = blocksOf(page);
      await Promise.all(
        blocks
          .filter(({ notRun }) => notRun === undefined)
          .map((block) =>
            context.test(`line ${block.line}: ${block.text.split("\n")[0]}`, { timeout: BLOCK_MS }, (each) =>
              runBlock(each, blocks, block),
            ),
          ),
      );
    });
});

test("each setting belongs to a block", () => {
  for (const [page, settings] of Object.entries(SETTINGS))
    for (const { block: start } of settings)
      assert.equal(blocksOf(page).filter(({ text }) => text.startsWith(start)).length, 1, `${page}: ${start}`);
});

async function runBlock(context: TestContext, blocks: readonly Block[], block: Block): Promise<void> {
  const setting: Partial<Setting> =
    SETTINGS[block.page]?.find(({ block: start }) => block.text.startsWith(start)) ?? {};
  const kind = setting.uses === undefined ? KINDS[block.language] : useBlock;
  assert.ok(
    kind,
    `${block.page}:${block.line}: a block of the language "${block.language}" can't be run; above it, say why: <!-- not run: WHY -->`,
  );
  if (setting.needs === "root" && process.getuid?.() !== 0) return skip(context, "needs root");
  if (setting.needs !== undefined && setting.needs !== "root" && isMissing(context, setting.needs)) return;
  const rig = await PageRig.create(
    context,
    block.page.startsWith("examples/") ? block.page.replace("/README.md", "") : undefined,
  );
  for (const { language, text } of blocks) if (language === "js") rig.write(nameOf(text) ?? ".unnamed", text);
  if (!block.page.startsWith("examples/")) writeConfiguration(rig, blocks.slice(0, blocks.indexOf(block)), setting);
  await rig.must(setting.before ?? "");
  await kind(rig, block, setting);
  await rig.must(setting.after ?? "");
  assert.deepEqual(await rig.shell.end(), []);
}

/** The name in the first line of a program: `// server.js`. */
function nameOf(text: string): string | undefined {
  return /^\/\/ (\S+\.[cm]?[jt]s)\n/.exec(text)?.[1];
}

/** That of the setting, else the page's last one before the block. */
function writeConfiguration(rig: PageRig, before: readonly Block[], { config }: Partial<Setting>): void {
  const last = before.filter(isConfiguration).at(-1)?.text ?? ORDINARY;
  if (config !== null) rig.write("procman.jsonc", config ? JSON.stringify(config) : last);
}

function isConfiguration({ language, text }: Block): boolean {
  return language.startsWith("json") && (parse(text) as { processes?: unknown } | undefined)?.processes !== undefined;
}

/** A configuration is valid without a warning, and all that it starts becomes ready. A part of one is tried in a whole. */
async function runConfiguration(rig: PageRig, block: Block): Promise<void> {
  const { id, url } = parse(block.text) as { readonly id?: string; readonly url?: string };
  const whole = `{ "processes": [${id === undefined ? WEB : block.text}], "plugins": [${url === undefined ? "" : block.text}] }`;
  assert.ok(isConfiguration(block) || id || url, "neither a configuration, nor a process, nor a plugin");
  rig.write("procman.jsonc", isConfiguration(block) ? block.text : whole);
  assert.doesNotMatch(await rig.must("procman validate"), /warning/);
  await rig.must("procman run --detach --wait");
  assert.doesNotMatch(await rig.must("procman status --check"), /^plugin .* is not running/m);
  await rig.must("procman terminate");
}

/** A text for another program. */
async function useBlock(rig: PageRig, { text }: Block, { uses = "" }: Partial<Setting>): Promise<void> {
  rig.write("block", text);
  await rig.must(uses);
}

/** The commands that need no running procman, or start it. */
const WITHOUT = /^(npm|npx|node|sudo|docker|export)\b|\b(init|add|run|validate|schema|token|completion|version|help)\b/;

/** Exit code of `status` while a process waits or has failed. */
const STATE = 3;

/** Lines that begin with `$ ` are commands, and the others what they print; without them all lines are commands. */
async function runShell(
  rig: PageRig,
  { text, page }: Block,
  { before, between = "", inTerminal = false }: Partial<Setting>,
): Promise<void> {
  const lines = text
    .replaceAll("\\\n", "")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"));
  const hasOutput = lines.some((line) => line.startsWith("$ "));
  const steps = lines.reduce<{ command: string; expected: string[] }[]>((all, line) => {
    if (!hasOutput) all.push({ command: line, expected: [] });
    else if (line.startsWith("$ ")) all.push({ command: line.slice(2), expected: [] });
    else all.at(-1)?.expected.push(line);
    return all;
  }, []);
  const first = steps.find(({ command }) => /procman|curl/.test(command))?.command.replace(/\s#.*/, "") ?? "";
  if (before === undefined && !page.startsWith("examples/") && first !== "" && !WITHOUT.test(first))
    await rig.must("procman run --detach");
  for (const [index, { command, expected }] of steps.entries()) {
    if (index > 0) await rig.must(between);
    const { code, out } = await rig.shell.run(
      inTerminal ? `script -qec "stty cols 100; ${rig.adapt(command)}" /dev/null` : rig.adapt(command),
    );
    const fails = expected.some((line) => /^(?:procman: |\{"error":)/.test(line));
    const isState = expected.length > 0 && code === STATE;
    assert.equal(code !== 0 && !isState, fails, `"${command}" ended with ${code}:\n${out}`);
    const difference = expected.length === 0 ? undefined : differenceOf(rig.adapt(expected.join("\n")), out);
    assert.ok(difference === undefined, `"${command}": ${difference}`);
  }
}

async function runProgram(
  rig: PageRig,
  { text }: Block,
  { prelude = "", postlude = "" }: Partial<Setting>,
): Promise<void> {
  const name = nameOf(text);
  // Others with a name are run by a configuration of the page.
  if (name !== undefined && !name.includes(".test.")) return;
  const program = name ?? "program.mjs";
  rig.write(program, `${prelude}\n${text}\n${postlude}`);
  await rig.must(`node ${program}`);
}
