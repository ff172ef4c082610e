/** What `procman dev` runs, by what is in the folder. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { type ChoiceOptions, chosen } from "./choice.ts";

function folderOf(context: TestContext, files: readonly string[]): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "procman-dev-")));
  context.after(() => rmSync(folder, { recursive: true }));
  for (const file of files) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), "{}");
  }
  return folder;
}

/** Its file, and why; `!`: it is refused. */
function choiceIn(context: TestContext, files: readonly string[], options: ChoiceOptions = {}, below = ""): string {
  const choice = chosen(options, join(folderOf(context, files), below));
  const mark = "path" in choice && choice.isRefused ? "!" : "";
  return `${mark}${choice.shownAs}: ${choice.why}`;
}

test("the first that is there: procman's file, Procfile.dev, Procfile, package.json, compose", (context) => {
  const all = ["procman.json", "Procfile.dev", "Procfile", "package.json", "compose.yaml"];
  assert.equal(choiceIn(context, all), "procman.json: ");
  assert.equal(choiceIn(context, all.slice(1)), "Procfile.dev: there is no procman.jsonc");
  assert.equal(choiceIn(context, all.slice(2)), "Procfile: there is no procman.jsonc, no Procfile.dev");
  assert.equal(
    choiceIn(context, all.slice(3)),
    "package.json: there is no procman.jsonc, no Procfile.dev, no Procfile",
  );
  const none = "there is no procman.jsonc, no Procfile.dev, no Procfile, no package.json";
  assert.equal(choiceIn(context, all.slice(4)), `!compose.yaml: ${none}`);
  assert.equal(choiceIn(context, ["docker-compose.yml"]), `!docker-compose.yml: ${none}`);
});

test("procman's file counts from above the folder, too, as for all commands", (context) => {
  assert.match(choiceIn(context, ["procman.jsonc", "web/Procfile"], {}, "web"), /^\/.*\/procman\.jsonc: $/);
});

test("a file that is named counts, also a configuration of procman", (context) => {
  const files = ["procman.json", "Procfile", "other/procman.jsonc", "compose.yaml"];
  assert.equal(choiceIn(context, files, { file: "Procfile" }), "Procfile: --file names it");
  assert.equal(choiceIn(context, files, { file: "compose.yaml" }), "compose.yaml: --file names it");
  assert.equal(choiceIn(context, files, { file: "other/procman.jsonc" }), "other/procman.jsonc: --file names it");
  assert.equal(choiceIn(context, files, { config: "other" }), "other/procman.jsonc: --config names it");
  assert.throws(() => choiceIn(context, files, { config: "other", file: "Procfile" }), { code: "usage" });
});

test("an empty folder is an error with what was looked for, and what to do", (context) => {
  assert.throws(() => choiceIn(context, []), {
    code: "configuration-missing",
    message:
      /there is no procman\.jsonc, no Procfile\.dev, no Procfile, no package\.json, no compose\.yaml; "procman add/,
  });
});
