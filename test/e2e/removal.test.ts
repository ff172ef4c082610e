/** docs/guide/remove.md: its commands take away what procman leaves. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { installProduct } from "../../scripts/packed-product.mjs";
import { blocksOf } from "../pages/page-blocks.ts";
import { keeperIn } from "../support/cli.ts";
import { cleanEnvironment, processExit } from "../support/procman-process.ts";

type Outcome = { readonly code: number; readonly out: string; readonly err: string };

/** The commands of the page, without those for installations of other projects. */
const [PROJECT = "", USER = ""] = blocksOf("docs/guide/remove.md").map(({ text }) =>
  text.replaceAll(/^.*uninstall -g.*$/gm, ""),
);

/** An empty project, and a home, in which nothing is yet. */
async function emptyPlace(context: TestContext) {
  const { PROCMAN_TEST_PACKAGE = (await installProduct()).PROCMAN_TEST_PACKAGE } = process.env;
  const product = join(PROCMAN_TEST_PACKAGE, "../..");
  const tarball = join(product, readdirSync(product).find((name) => name.endsWith(".tgz")) ?? "");
  const place = mkdtempSync(join(product, "removal-"));
  const folders = { project: join(place, "project"), home: join(place, "home"), tmp: join(place, "tmp") };
  for (const folder of Object.values(folders)) mkdirSync(folder);
  writeFileSync(join(folders.project, "package.json"), "{}\n");
  const env = cleanEnvironment({
    PATH: `${folders.project}/node_modules/.bin:${process.env.PATH}`,
    HOME: folders.home,
    TMPDIR: folders.tmp,
    XDG_CONFIG_HOME: "",
    XDG_CACHE_HOME: "",
    XDG_DATA_HOME: "",
    npm_config_cache: join(place, "npm"),
    npm_config_offline: "true",
    npm_config_audit: "false",
    npm_config_fund: "false",
    npm_config_update_notifier: "false",
  });
  context.after(async () => {
    const keeper = keeperIn(join(folders.project, ".procman/procman"));
    if (keeper === 0) return;
    process.kill(keeper, "SIGTERM");
    await processExit(keeper);
  });
  const sh = (lines: string): Promise<Outcome> =>
    new Promise((resolve) => {
      execFile("/bin/sh", ["-ec", lines], { cwd: folders.project, env }, (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, err }),
      );
    });
  const must = async (lines: string): Promise<void> => {
    const { code, out, err } = await sh(lines);
    assert.equal(code, 0, `${lines}\n${out}${err}`);
  };
  return { ...folders, tarball, must };
}

test("the commands of the page leave nothing of procman in the project, the home and the folder for temporary files", async (context) => {
  const { project, home, tmp, tarball, must } = await emptyPlace(context);
  await must(`npm install '${tarball}'`);
  await must(`procman init --id web --cmd "echo hello; exec sleep 1000"
procman run --detach
procman logs web
procman token --consumer me
procman host add web1 ssh://web1.example.org --no-check
procman status`);
  for (const path of [join(project, ".procman"), join(project, "procman.jsonc"), join(home, ".config/procman")])
    assert.ok(existsSync(path), path);
  await must(PROJECT);
  await must(USER);
  // npm leaves its own files.
  const left = (readdirSync(project, { recursive: true, encoding: "utf8" }) as string[]).filter(
    (name) => !/^(package(-lock)?\.json|node_modules(\/\.package-lock\.json|\/\.bin)?)$/.test(name),
  );
  assert.deepEqual(left, []);
  assert.deepEqual(readdirSync(tmp), []);
  const ofHome = readdirSync(home, { recursive: true, encoding: "utf8" }) as string[];
  assert.deepEqual(
    ofHome.filter((name) => /procman/.test(name)),
    [],
  );
});
