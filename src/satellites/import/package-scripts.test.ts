/** The scripts of package.json and of workspaces, by files alone. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { importOf } from "../../../test/support/import-rig.ts";

type Files = Readonly<Record<string, string | object>>;

/** Each process as `id: command in folder`. */
async function processesOf(context: TestContext, files: Files): Promise<readonly string[]> {
  const texts = Object.entries(files).map(([name, text]) => [
    name,
    typeof text === "string" ? text : JSON.stringify(text),
  ]);
  const { config } = await importOf(context, Object.fromEntries(texts), ["package.json"], "package");
  return config.processes.map(({ id, cmd, cwd = "." }) => `${id}: ${String(cmd)} in ${String(cwd)}`);
}

const dev = { scripts: { dev: "vite" } };

test("the script dev, else start, by the package manager of the lock file or of packageManager", async (context) => {
  assert.deepEqual(await processesOf(context, { "package.json": { name: "@shop/web", ...dev } }), [
    "web: npm run dev in .",
  ]);
  for (const [lock, manager] of [
    ["pnpm-lock.yaml", "pnpm"],
    ["yarn.lock", "yarn"],
    ["bun.lock", "bun"],
    ["package-lock.json", "npm"],
  ] as const)
    assert.deepEqual(
      await processesOf(context, { "package.json": { name: "web", scripts: { start: "x" } }, [lock]: "" }),
      [`web: ${manager} run start in .`],
    );
  assert.deepEqual(
    await processesOf(context, { "package.json": { name: "web", packageManager: "bun@1.2.0", ...dev } }),
    ["web: bun run dev in ."],
  );
});

const members = {
  "packages/api/package.json": { name: "@shop/api", ...dev },
  "packages/ui/package.json": { name: "ui", scripts: { build: "x" } },
  "packages/empty/README.md": "",
  "packages/node_modules/x/package.json": dev,
  "apps/web/package.json": { name: "web", ...dev },
  "apps/old/package.json": { name: "old", ...dev },
  "apps/deep/er/package.json": { name: "deep", ...dev },
};

test("the scripts dev of workspaces, for npm, Yarn, bun and pnpm; the root's own is left to them", async (context) => {
  const workspaces = ["packages/*", "./apps/**", "!apps/old"];
  const found = [
    "api: npm run dev in packages/api",
    "deep: npm run dev in apps/deep/er",
    "web: npm run dev in apps/web",
  ];
  const root = { name: "root", scripts: { dev: "turbo dev" } };
  assert.deepEqual(await processesOf(context, { "package.json": { ...root, workspaces }, ...members }), found);
  const ofYarn = { "package.json": { ...root, workspaces: { packages: workspaces } }, "yarn.lock": "", ...members };
  assert.deepEqual(
    await processesOf(context, ofYarn),
    found.map((line) => line.replace("npm", "yarn")),
  );
  const ofPnpm = {
    "package.json": root,
    "pnpm-workspace.yaml": "packages:\n  - packages/*\n  - apps/**\n  - '!apps/old'\n",
    ...members,
  };
  assert.deepEqual(
    await processesOf(context, ofPnpm),
    found.map((line) => line.replace("npm", "pnpm")),
  );
});

test("two packages of one name get two ids; workspaces without dev leave the root's own", async (context) => {
  const twins = { "a/package.json": { name: "@one/web", ...dev }, "b/package.json": { name: "@two/web", ...dev } };
  assert.deepEqual(await processesOf(context, { "package.json": { workspaces: ["a", "b"] }, ...twins }), [
    "web: npm run dev in a",
    "web_2: npm run dev in b",
  ]);
  const root = { name: "root", scripts: { start: "x" }, workspaces: ["ui"] };
  assert.deepEqual(
    await processesOf(context, { "package.json": root, "ui/package.json": { scripts: { build: "x" } } }),
    ["root: npm run start in ."],
  );
});

test("nothing to run is an error with what there is", async (context) => {
  const refused = (files: Files): Promise<unknown> => processesOf(context, files);
  await assert.rejects(refused({ "package.json": { scripts: { build: "x", test: "y" } } }), {
    code: "configuration-invalid",
    message: /found no script "dev" or "start"; it has build, test: "procman add npm:build" makes/,
  });
  const none = { "package.json": { workspaces: ["ui", "missing/*"] }, "ui/package.json": { name: "ui" } };
  await assert.rejects(refused(none), {
    message: /"start", and no workspace \(ui\) has a script "dev"; "procman add PROGRAM"/,
  });
  await assert.rejects(refused({ "package.json": { workspaces: ["missing/*", "../out"] } }), {
    message: /"start", and missing\/\*, \.\.\/out finds no workspace; "procman add PROGRAM"/,
  });
  await assert.rejects(refused({ "package.json": { scripts: { dev: 5, build: "x" } } }), {
    message: /found no script "dev" or "start"; it has build: /,
  });
  await assert.rejects(refused({ "package.json": "{ scripts" }), {
    message: /Cannot read .*package\.json:1:3: Found `scripts`; /,
  });
  await assert.rejects(refused({ "package.json": "{ // none\n}" }), { message: /Cannot read .*package\.json: .*JSON/ });
  await assert.rejects(refused({ "package.json": dev, "pnpm-workspace.yaml": "packages: [" }), {
    message: /^Cannot import pnpm-workspace\.yaml:/,
  });
});
