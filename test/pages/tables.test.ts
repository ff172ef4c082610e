/** The tables for users of other tools: each command of procman works with the configuration of its page, and the keys are counted. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, type TestContext, test } from "node:test";
import { ROOT } from "../support/product.ts";
import { isMissing } from "../support/system-programs.ts";
import { blocksOf } from "./page-blocks.ts";
import { PageRig } from "./page-rig.ts";

/** Time limit of a part. Milliseconds. */
const PART_MS = 300_000;

/** `status` says so while a process doesn't run. */
const STATE = 3;

const PAGE = "docs/guide/migrate.md";

/** The part for the users of one tool. */
type Part = { readonly title: string; readonly text: string };

const parts: readonly Part[] = readFileSync(join(ROOT, PAGE), "utf8")
  .split(/^(?=## )/m)
  .filter((text) => text.startsWith("## From ") && (process.env.PROCMAN_TEST_PAGES?.split(",").includes(PAGE) ?? true))
  .map((text) => ({ title: text.slice("## ".length, text.indexOf("\n")), text }));

/** They wait more than they compute. */
describe("tables", { concurrency: 3 }, () => {
  for (const part of parts)
    test(`${part.title}: each command of its tables works`, { timeout: PART_MS }, (context) =>
      tryCommands(context, part),
    );
});

for (const part of parts.filter((each) => rowsOf(each).some((cells) => cells[1] === "keys")))
  test(`${part.title}: keys are those of the first command of a cell; a longer command has its reason beside it`, () => {
    const rows = rowsOf(part).filter((cells) => cells.length === 5 && /^\d+$/.test(cells[1] ?? ""));
    assert.ok(rows.length > 10);
    for (const [theirs = "", keys, ours = "", ownKeys, reason] of rows) {
      const [their, own] = [theirs, ours].map((cell) => /`([^`]+)`/.exec(cell)?.[1] ?? "") as [string, string];
      assert.deepEqual([keys, ownKeys], [String(their.length), own === "" ? "" : String(own.length)], theirs);
      // The page itself says why procman's name is longer.
      const more = own.length - their.length - Math.max(0, "procman".length - (their.split(/[ -]/)[0] ?? "").length);
      if (own !== "" && more > 0) assert.notEqual(reason, "", `${own} is longer than ${their}`);
    }
  });

/** The cells of all rows of tables. */
function rowsOf({ text }: Part): readonly (readonly string[])[] {
  const rows = text.split("\n");
  return rows
    .filter((row) => row.startsWith("|"))
    .map((row) =>
      row
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

function commandsIn(part: Part): readonly string[] {
  const commands = rowsOf(part).flatMap((cells) =>
    cells.slice(1).flatMap((cell) => /^`(procman [^`]*)`$/.exec(cell)?.[1] ?? []),
  );
  return commands.filter((command) => !/\b[A-Z]{2,}$/.test(command));
}

async function tryCommands(context: TestContext, part: Part): Promise<void> {
  if (part.title.endsWith("compose") && isMissing(context, "redis-server")) return;
  const rig = await PageRig.create(context);
  rig.write("procman.jsonc", blocksOf(PAGE, part.text).find(({ language }) => language === "jsonc")?.text ?? "");
  const commands = commandsIn(part);
  assert.ok(commands.length > 10);
  let isUp = false;
  for (const command of commands) {
    const isStart = /^procman run\b/.test(command);
    if (isStart) await rig.must("procman terminate || [ $? = 69 ]");
    else if (!isUp) await rig.must("procman terminate || [ $? = 69 ]\nprocman run --detach --wait");
    const { code, out } = await rig.shell.run(rig.adapt(command));
    assert.ok(
      code === 0 || (code === STATE && command.startsWith("procman status")),
      `"${command}" ended with ${code}:\n${out}`,
    );
    isUp = !isStart && !/^procman terminate\b/.test(command);
  }
  assert.deepEqual(await rig.shell.end(), []);
}
