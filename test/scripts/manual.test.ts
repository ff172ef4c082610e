/** What the man pages are made of. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Command } from "commander";
import { fieldsOf } from "../../scripts/configuration.ts";
import { manual } from "../../scripts/manual.ts";
import { literal, manPageText, prose, tagged } from "../../scripts/roff.ts";
import { COMMANDS, defineCommand, isCommand } from "../../src/cli/commands.ts";

const EDITION = { version: "1.2.3", date: "2026-01-31" };
const pages = await manual();

function textOf(name: string): string {
  const page = pages.find((each) => each.name === name);
  assert.ok(page, name);
  return manPageText(page, EDITION);
}

test("package.json lists each man page: npm links those that stand there", () => {
  const { man } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly man: readonly string[];
  };
  assert.deepEqual([...man].sort(), pages.map(({ name, section }) => `dist/man/${name}.${section}`).sort());
});

test("the page of a command has each option and argument of it", async () => {
  let options = 0;
  for (const name of Object.keys(COMMANDS).filter(isCommand)) {
    const program = new Command("procman");
    await defineCommand(name, program);
    const text = textOf(`procman-${name}`);
    for (const command of program.commands.flatMap((each) => [each, ...each.commands]))
      for (const { flags } of command.options.filter(({ hidden }) => !hidden)) {
        options += 1;
        assert.ok(text.includes(tagged(flags)[1] as string), `${name} ${flags}`);
      }
  }
  assert.ok(options > 100);
});

test("the page of the configuration has each field, with its description", () => {
  const text = textOf("procman.json");
  const fields = fieldsOf().filter(([path]) => path !== "" && !path.endsWith("[]"));
  assert.ok(fields.length > 100);
  for (const [path, { description = "" }] of fields)
    assert.ok(
      text.includes(
        `${tagged(path.split(".").at(-1) as string, description)
          .slice(0, 3)
          .join("\n")}`,
      ),
      path,
    );
});

test("roff prints the text of a page as it is: no line of it is a request, and no character another one", () => {
  assert.deepEqual(literal([".procman", "'it's", "a\\b ~^`-…"]).slice(2, -2), [
    "\\&.procman",
    "\\(aqit\\(aqs",
    "a\\eb \\(ti\\(ha\\(ga\\-\\[u2026]",
  ]);
  assert.equal(prose("see `--json`."), "see \\fB\\-\\-json\\fR.");
});
