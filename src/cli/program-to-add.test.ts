import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { ProcmanError } from "../core/base/errors.ts";
import { typeScriptFlags } from "../core/config/checks/command-checks.ts";
import { programToAdd } from "./program-to-add.ts";

function project(t: TestContext, files: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "procman-add-")));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

function commandOf(folder: string, ...words: readonly string[]): string {
  return programToAdd(words, folder).cmd;
}

function refused(folder: string, words: readonly string[], message: RegExp): void {
  assert.throws(
    () => programToAdd(words, folder),
    (error) => error instanceof ProcmanError && error.code === "usage" && message.test(error.message),
  );
}

test("a script is run by the program for its extension, with its arguments", (t) => {
  const folder = project(t, {
    "server.js": "",
    "app/it's.mjs": "",
    "job.py": "",
    "run.sh": "echo",
    "of bash.sh": "#!/usr/bin/env bash\n",
    "task.rb": "",
    "task.pl": "",
    "shop.jar": "",
  });
  assert.deepEqual(programToAdd(["server.js"], folder), { cmd: "node server.js", name: "server", cwd: folder });
  assert.equal(commandOf(folder, "server.js", "--port", "80", "a b"), "node server.js --port 80 'a b'");
  assert.equal(commandOf(folder, "server.js --port 80"), "node server.js --port 80");
  assert.equal(commandOf(folder, "app/it's.mjs"), "node 'app/it'\\''s.mjs'");
  assert.equal(commandOf(folder, join(folder, "server.js")), `node ${join(folder, "server.js")}`);
  assert.match(commandOf(folder, "job.py", "x"), /^python3? -u job\.py x$/);
  assert.equal(commandOf(folder, "run.sh"), "sh run.sh");
  assert.equal(commandOf(folder, "of bash.sh"), "bash 'of bash.sh'");
  assert.equal(commandOf(folder, "task.rb"), "ruby task.rb");
  assert.equal(commandOf(folder, "task.pl"), "perl task.pl");
  assert.equal(commandOf(folder, "shop.jar"), "java -jar shop.jar");
  assert.equal(commandOf(folder, "PORT=80", "server.js"), "PORT=80 node server.js");
});

test("TypeScript is run by the tsx of the project, else by a Node that can", (t) => {
  const folder = project(t, { "server.ts": "", "view.tsx": "" });
  const flags = typeScriptFlags();
  if (flags === undefined) refused(folder, ["server.ts"], /runs no TypeScript; "npm install tsx"/);
  else assert.equal(commandOf(folder, "server.ts"), ["node", ...flags, "server.ts"].join(" "));
  refused(folder, ["view.tsx"], /Node runs no JSX; "npm install tsx"/);
  const withTsx = project(t, { "node_modules/tsx/package.json": "{}", "app/server.ts": "", "app/view.tsx": "" });
  assert.equal(commandOf(join(withTsx, "app"), "server.ts"), "node --import tsx server.ts");
  assert.equal(commandOf(join(withTsx, "app"), "view.tsx"), "node --import tsx view.tsx");
});

test("Python is that of the project's virtual environment", (t) => {
  const folder = project(t, { "app.py": "", ".venv/bin/python": "" });
  assert.equal(commandOf(folder, "app.py"), ".venv/bin/python -u app.py");
});

test("an executable file is run itself; a file without a known way to run it is refused with the ways", (t) => {
  const folder = project(t, {
    "run.sh": "#!/bin/sh\n",
    tool: "#!/bin/sh\n",
    "cli.js": "#!/usr/bin/env node\n",
    data: "",
  });
  for (const name of ["run.sh", "tool", "cli.js"]) chmodSync(join(folder, name), 0o755);
  assert.equal(commandOf(folder, "run.sh"), "./run.sh");
  assert.equal(commandOf(folder, "tool", "x"), "./tool x");
  assert.equal(commandOf(folder, "cli.js"), "node cli.js");
  assert.equal(commandOf(folder, "./cli.js"), "./cli.js");
  refused(folder, ["data"], /"data": it is not executable.*"chmod \+x data".*"procman add -- PROGRAM data"/);
});

test("a program of PATH, and a command line for a shell, stay as they are", (t) => {
  const folder = project(t, { "node/package.json": "{}" });
  assert.deepEqual(programToAdd(["node", "--inspect", "app/server.js"], folder), {
    cmd: "node --inspect app/server.js",
    name: "server",
    cwd: folder,
  });
  assert.equal(commandOf(folder, "sleep  1000"), "sleep  1000");
  assert.equal(commandOf(folder, "./report.sh | gzip > report.gz"), "./report.sh | gzip > report.gz");
  assert.equal(programToAdd(["npm", "run", "dev"], folder).name, "dev");
  refused(folder, ["nosuch", "x"], /^Cannot add "nosuch": there is no such program in PATH, and no such file here$/);
  refused(folder, ["./nosuch.js"], /^Cannot add "\.\/nosuch\.js": there is no such file$/);
});

test("a folder is run by the script start of its package, or by its main file", (t) => {
  const folder = project(t, {
    "api/package.json": '{ "name": "@shop/api", "scripts": { "start": "node ." } }',
    "web/package.json": '{ "main": "main.js" }',
    "web/main.js": "",
    "plain/server.js": "",
    "tools/package.json": '{ "scripts": { "dev": "vite", "build": "vite build" } }',
    "pnpm-lock.yaml": "",
    "web/bun.lock": "",
  });
  assert.deepEqual(programToAdd(["./api"], folder), { cmd: "pnpm run start", name: "api", cwd: join(folder, "api") });
  assert.deepEqual(programToAdd(["."], join(folder, "web")), {
    cmd: "node main.js",
    name: "web",
    cwd: join(folder, "web"),
  });
  assert.equal(commandOf(folder, "plain"), "node server.js");
  refused(folder, ["tools"], /"tools": it is a folder without a script "start".*its scripts are npm:dev, npm:build$/);
});

test("a script of package.json is run by the package manager of the project", (t) => {
  const folder = project(t, {
    "package.json": '{ "scripts": { "dev": "vite", "test:unit": "vitest" }, "packageManager": "yarn@4.1.0" }',
  });
  assert.deepEqual(programToAdd(["npm:dev"], folder), { cmd: "npm run dev", name: "dev", cwd: folder });
  assert.equal(commandOf(folder, "npm:test:unit", "--watch"), "npm run test:unit -- --watch");
  assert.equal(commandOf(folder, "dev", "--port", "80"), "yarn run dev --port 80");
  refused(folder, ["npm:dve"], /package\.json has no such script; it has dev, test:unit\. Did you mean "dev"\?$/);
  refused(folder, ["dve"], /the scripts of package\.json are npm:dev, npm:test:unit\. Did you mean "dev"\?$/);
  assert.throws(() => programToAdd(["npm:dev"], project(t, { "package.json": "{" })), {
    code: "configuration-invalid",
    message: /^Cannot read .*package\.json:1:2: Found the end of the file; /,
  });
});
