/** `procman import`: what it writes, prints and refuses, as a user sees it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { procman } from "../support/cli.ts";
import { ecosystemOf, folderOfFiles } from "../support/import-rig.ts";
import { assertWithin } from "../support/machine-pace.ts";
import { BIN } from "../support/product.ts";

const WEB = { name: "web", script: "server.js", env: { PORT: 3000 }, post_update: ["npm install"] };

test("import writes a file that validates, says what has no equal, and writes over nothing unless told", async (context) => {
  const folder = folderOfFiles(context, { "ecosystem.config.js": ecosystemOf([WEB]), "server.js": "" });
  const file = join(folder, "procman.jsonc");
  const first = await procman(folder, ["import", "ecosystem.config.js"]);
  assert.deepEqual([first.code, first.err], [0, ""]);
  assert.match(
    first.out,
    /^procman\.jsonc: created with 1 process of ecosystem\.config\.js; `procman run` starts it\n/,
  );
  assert.match(first.out, / {2}web: post_update: let your CI call these commands/);
  assert.match(readFileSync(file, "utf8"), /\/\/ post_update: let your CI call these commands/);
  assert.match((await procman(folder, ["validate"])).out, /^procman\.jsonc: valid, 1 process\n/);
  writeFileSync(file, "{}");
  const second = await procman(folder, ["import", "ecosystem.config.js"]);
  assert.deepEqual([second.code, second.out], [1, ""]);
  assert.match(second.err, /^procman: Cannot create procman\.jsonc: it already exists; --force overwrites it/);
  assert.match(
    (await procman(folder, ["import", "nofile"])).err,
    /^procman: Cannot import nofile: /,
    "the nearer fault",
  );
  assert.match(
    (await procman(folder, ["import", "procman.jsonc"])).err,
    /^procman: Cannot import procman\.jsonc: its kind is not recognized/,
  );
  assert.equal(readFileSync(file, "utf8"), "{}");
  assert.equal((await procman(folder, ["import", "ecosystem.config.js", "--force"])).code, 0);
  assert.match(readFileSync(file, "utf8"), /"cmd": "node server\.js"/);
});

test("--stdout prints the file, --check only the report, --json the report for programs; none of them writes", async (context) => {
  const folder = folderOfFiles(context, {
    Procfile: "web: node server.js\n",
    "compose.yaml": "services: { a: { build: . } }\n",
  });
  const printed = await procman(folder, ["import", "Procfile", "--stdout"]);
  assert.match(printed.out, /^\/\/ procman\.jsonc, made by `procman import Procfile`/);
  assert.match(printed.err, /^1 process of Procfile\nnot converted, or converted differently/);
  const checked = await procman(folder, ["import", "Procfile", "--check"]);
  assert.deepEqual([checked.code, checked.out], [0, printed.err]);
  const left = await procman(folder, ["import", "compose.yaml", "--check", "--json"]);
  assert.equal(left.code, 1);
  const {
    processes,
    left: names,
    notes,
  } = JSON.parse(left.out) as { processes: unknown; left: unknown; notes: { field: string }[] };
  assert.deepEqual([processes, names, notes.map(({ field }) => field)], [[], ["a"], ["command"]]);
  assert.equal(existsSync(join(folder, "procman.jsonc")), false);
});

test("several files of several managers become one configuration; -c names it, and paths are written for its folder", async (context) => {
  const folder = folderOfFiles(context, {
    "a/Procfile": "web: node server.js\n",
    "b/supervisord.conf": "[program:web]\ncommand=node other.js\n",
    "out/x": "",
  });
  const { code, err } = await procman(folder, ["import", "a/Procfile", "b/supervisord.conf", "-c", "out/all.jsonc"]);
  assert.equal(code, 0, err);
  const text = readFileSync(join(folder, "out/all.jsonc"), "utf8");
  assert.match(
    text,
    new RegExp(
      `// From a/Procfile[^]*"id": "web",[^]*"cwd": "${folder}/a"[^]*// From b/supervisord\\.conf[^]*"id": "web_2"`,
    ),
  );
});

test("standard input is read as a file, for the list of a running pm2", async (context) => {
  const folder = folderOfFiles(context, {
    "list.json": JSON.stringify([
      { name: "web", pm2_env: { pm_exec_path: "/srv/a.js", pm_cwd: "/srv", exec_interpreter: "node" } },
    ]),
  });
  writeFileSync(join(folder, "run.sh"), `"$1" "$2" import - --stdout < list.json\n`);
  const out = execFileSync("/bin/sh", ["run.sh", process.execPath, BIN], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  assert.match(out, /"cmd": "node \/srv\/a\.js"/);
});

test("a file that can't be imported is refused with place and remedy, and nothing is written", async (context) => {
  const folder = folderOfFiles(context, {
    "empty.yaml": " \n",
    "notes.txt": "hello\nworld\n",
    "procman.json": '{ "processes": [] }',
    "latin1.conf": "",
    "throws.config.js": "const apps = [];\nthrow new Error('no database');\n",
    "syntax.config.js": "module.exports = {\n  apps: [,,}\n",
    "exits.config.js": "process.exit(3)",
    "nothing.config.mjs": "export const x = undefined; export default undefined;",
    "odd.yaml": "a: 1\n",
    "useless.yaml": "services: { a: 5 }\n",
    "package.json": '{ "scripts": { "dev": "vite" } }',
    "turbo.json": '{ "tasks": { "dev": {} } }',
  });
  writeFileSync(join(folder, "latin1.conf"), Buffer.from([0x5b, 0xe4, 0x5d]));
  for (const [name, message] of [
    ["absent.conf", /Cannot import absent\.conf: there is no such file/],
    [".", /Cannot import .*folder/],
    ["empty.yaml", /Cannot import empty\.yaml: the file is empty/],
    ["notes.txt", /its kind is not recognized; name it with --from: pm2, supervisord/],
    ["odd.yaml", /its kind is not recognized/],
    ["package.json", /"procman add npm:dev" adds the script "dev"/],
    ["turbo.json", /"procman add --id dev -- npx turbo run dev" adds the task/],
    ["procman.json", /it is already a procman configuration/],
    ["latin1.conf", /it has bytes that are not UTF-8/],
    ["throws.config.js", /Cannot import throws\.config\.js: it fails with "no database" at line 2, column 7/],
    ["syntax.config.js", /Cannot import syntax\.config\.js: it fails with ".*" at line 2/],
    ["exits.config.js", /it ended with code 3 before it exported anything/],
    ["nothing.config.mjs", /it exports nothing; expected module\.exports = \{ apps: \[ … \] \}/],
    ["useless.yaml", /Cannot import useless\.yaml: nothing of it can be run\n {2}a: a: is not an object/],
  ] as const) {
    const { code, out, err } = await procman(folder, ["import", name, "-c", "new.jsonc"]);
    assert.deepEqual([code, out], [78, ""], `${name}: ${err}`);
    assert.match(err, message);
  }
  assert.equal(existsSync(join(folder, "new.jsonc")), false);
  assert.equal((await procman(folder, ["import", "notes.txt", "--from", "nothing"])).code, 64);
});

test("1 000 apps are imported, in YAML, too, and 500 in less than a second", async (context) => {
  const apps = Array.from({ length: 1_000 }, (_, index) => ({
    ...WEB,
    name: `web ${index}`,
    script: `server-${index}.js`,
  }));
  const services = apps.map(
    ({ name, script }) =>
      `  ${name.replace(" ", "_")}: { command: node ${script}, restart: always, environment: { A: b } }`,
  );
  const folder = folderOfFiles(context, {
    "ecosystem.config.js": ecosystemOf(apps),
    "half.config.js": ecosystemOf(apps.slice(0, 500)),
    "compose.yaml": `services:\n${services.join("\n")}\n`,
  });
  for (const file of ["ecosystem.config.js", "compose.yaml"]) {
    const { code, out, err } = await procman(folder, ["import", file, "--check", "--json"]);
    assert.equal(code, 0, err);
    assert.equal((JSON.parse(out) as { processes: unknown[] }).processes.length, 1_000);
  }
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 5; attempt++) {
    const start = performance.now();
    await procman(folder, ["import", "half.config.js", "--check"]);
    best = Math.min(best, performance.now() - start);
  }
  context.diagnostic(`500 apps: ${Math.round(best)} ms`);
  assertWithin(1_000, best, "the import of 500 apps");
});
