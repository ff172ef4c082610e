/** The configuration that `procman dev` makes of a foreign file, in the state folder. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { type TestContext, test } from "node:test";
import { folderOfFiles } from "../../../test/support/import-rig.ts";
import { check } from "../../core/config/load.ts";
import { type ForeignConfiguration, foreignConfiguration } from "./foreign-configuration.ts";

type MadeIn = ForeignConfiguration & { readonly folder: string };

async function madeOf(
  context: TestContext,
  files: Readonly<Record<string, string>>,
  path: string,
  isRefused = false,
): Promise<MadeIn> {
  const folder = realpathSync(folderOfFiles(context, files));
  return { folder, ...(await foreignConfiguration(path, { cwd: folder, isRefused })) };
}

test("it lies in the state folder alone, runs in the project, and has the name of its folder", async (context) => {
  const made = await madeOf(context, { Procfile: "web: node server.js\nmail: node mail.js\n" }, "Procfile");
  const { folder, file, ids, left, sources } = made;
  const name = basename(folder).toLowerCase();
  assert.equal(file, join(folder, ".procman", name, "Procfile.jsonc"));
  assert.deepEqual(readdirSync(folder).sort(), [".procman", "Procfile"]);
  assert.equal(readFileSync(join(folder, ".procman/.gitignore"), "utf8"), "*\n");
  assert.deepEqual([ids, left], [["web", "mail"], []]);
  assert.deepEqual(sources, [join(folder, "Procfile"), join(folder, ".env"), join(folder, "pnpm-workspace.yaml")]);
  const config = check({ file, shownAs: file, text: readFileSync(file, "utf8") });
  assert.equal(config.name, name);
  assert.deepEqual(
    config.processes.map(({ cwd }) => cwd),
    [folder, folder],
  );
});

test("the same content is not written again: a procman that watches it isn't reloaded", async (context) => {
  const { folder, file } = await madeOf(context, { Procfile: "web: node server.js\n" }, "Procfile");
  const { ino, mtimeMs } = statSync(file);
  await foreignConfiguration("Procfile", { cwd: folder, isRefused: false });
  const again = statSync(file);
  assert.deepEqual([again.ino, again.mtimeMs], [ino, mtimeMs]);
});

test("of workspaces, each package.json is a source", async (context) => {
  const member = '{ "scripts": { "dev": "vite" } }';
  const { folder, sources, ids } = await madeOf(
    context,
    {
      "package.json": '{ "workspaces": ["apps/*"] }',
      "apps/web/package.json": member,
      "apps/api/package.json": member,
    },
    "package.json",
  );
  assert.deepEqual(ids, ["api", "web"]);
  for (const file of ["package.json", "apps/web/package.json", "apps/api/package.json"])
    assert.ok(sources.includes(join(folder, file)), file);
});

test("names that occur twice are told, with the ids that they have", async (context) => {
  const dev = '{ "name": "web", "scripts": { "dev": "vite" } }';
  const files = { "package.json": '{ "workspaces": ["*"] }', "a/package.json": dev, "b/package.json": dev };
  const { ids, renamed } = await madeOf(context, files, "package.json");
  assert.deepEqual(ids, ["web", "web_2"]);
  assert.deepEqual(renamed, ['b/package.json: the name "web" occurs more than once; this one is called web_2']);
  const { renamed: none } = await madeOf(context, { Procfile: "Web: x\nall: y\n" }, "Procfile");
  assert.deepEqual(none, []);
});

test("a wrong line is an error with its place", async (context) => {
  await assert.rejects(madeOf(context, { Procfile: "web: node server.js\nmail node mail.js\n" }, "Procfile"), {
    code: "configuration-invalid",
    message: /Procfile:2:1[\s\S]*expected a line such as `web: node server\.js`/,
  });
  await assert.rejects(madeOf(context, { Procfile: "# nothing\n" }, "Procfile"), {
    message: /^Cannot run Procfile: nothing of it can be run$/,
  });
});

test("services of a compose file that nobody has named are named, not run", async (context) => {
  const compose = "services:\n  web: { image: nginx }\n  db: { image: postgres }\n";
  await assert.rejects(madeOf(context, { "compose.yaml": compose }, "compose.yaml", true), {
    code: "configuration-invalid",
    message:
      /^Cannot run compose\.yaml: its services \(web, db\) are made for containers; "docker compose up" runs them/,
  });
  const { ids } = await madeOf(context, { "compose.yaml": compose }, "compose.yaml");
  assert.deepEqual(ids, ["web", "db"]);
});
