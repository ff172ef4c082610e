import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type EnvironmentVariables, MissingVariableError, variablesOf } from "./run-variables.ts";

function folderOf(context: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-env-"));
  context.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

const problemOf = (variables: EnvironmentVariables): string => {
  try {
    variablesOf(variables, { own: {} });
  } catch (error) {
    assert.ok(error instanceof MissingVariableError);
    return error.message;
  }
  return assert.fail("no problem");
};

test("2.2 env: files in their order, then configured variables; values may use variables of the files and of procman's environment", (context) => {
  const folder = folderOf(context, {
    ".env": "# a comment\nexport A=1\nB='two words'\nC=3 # three\nD=\"line\\nline\"\n",
    "local.env": "A=4\n",
  });
  const envFile = [".env", "local.env"].map((name) => join(folder, name));
  const found = variablesOf(
    { envFile, env: { C: "own", URL: "${HOST}:${A}/${X:-y}" } },
    { own: { HOST: "db", A: "0" } },
  );
  assert.deepEqual(found, { A: "4", B: "two words", C: "own", D: "line\nline", URL: "db:4/y" });
});

test("2.2 env: a file is read for each run", (context) => {
  const folder = folderOf(context, { ".env": "A=1", key: "one\n" });
  const variables = { envFile: [join(folder, ".env")], env: { KEY: { file: join(folder, "key") } } };
  assert.deepEqual(variablesOf(variables), { A: "1", KEY: "one" });
  writeFileSync(join(folder, ".env"), "A=2");
  writeFileSync(join(folder, "key"), "two");
  assert.deepEqual(variablesOf(variables), { A: "2", KEY: "two" });
});

test("2.2 env: a secret is a file's text without its last line end, or a variable; dollars in it are not expanded", (context) => {
  const folder = folderOf(context, { key: "a\n${B}\n\n" });
  const env = { KEY: { file: join(folder, "key") }, TOKEN: { env: "CI_TOKEN" } };
  assert.deepEqual(variablesOf({ env }, { own: { CI_TOKEN: "${x}" } }), { KEY: "a\n${B}\n", TOKEN: "${x}" });
});

test("2.2 env: a missing variable or file is named with a remedy", (context) => {
  const folder = folderOf(context);
  const gone = join(folder, "gone");
  assert.equal(
    problemOf({ envFile: [gone], env: {} }),
    `its env file ${gone} does not exist; create it or correct "envFile"`,
  );
  assert.equal(
    problemOf({ env: { K: { file: gone } } }),
    `the file ${gone} of its variable K does not exist; create it or correct "env.K"`,
  );
  assert.equal(problemOf({ envFile: [folder], env: {} }), `its env file ${folder} can't be read: it is a folder`);
  assert.equal(
    problemOf({ env: { K: { env: "T" } } }),
    "its variable K needs T, which is not set; set it where procman is started",
  );
  assert.equal(
    problemOf({ env: { K: "${PROCMAN_CLUSTER_PORT}" } }),
    'its variable K needs PROCMAN_CLUSTER_PORT, which is not set; set "cluster.startPort"',
  );
  assert.match(
    problemOf({ env: { K: "${A}${B}" } }),
    /^its variable K needs A and B, which are not set; .* give a default: \$\{A:-…\}$/,
  );
});

test("2.2 env: a value that no variable can hold is refused, and not shown", (context) => {
  const folder = folderOf(context, { key: "geh\0eim" });
  const problem = problemOf({ env: { KEY: { file: join(folder, "key") } } });
  assert.equal(problem, "its variable KEY has a NUL byte in it, which no variable can hold");
});

test("2.2 envFile: malformed lines are reported with their file; the others are used", (context) => {
  const folder = folderOf(context, { ".env": "A: 1\nB=2\n", "good.env": "C=3\n" });
  const reported: (readonly [string, readonly number[]])[] = [];
  const envFile = [join(folder, ".env"), join(folder, "good.env")];
  const found = variablesOf(
    { envFile, env: {} },
    { onFaults: (file, faults) => reported.push([file, faults.map(({ line }) => line)]) },
  );
  assert.deepEqual(found, { B: "2", C: "3" });
  assert.deepEqual(reported, [
    [envFile[0], [1]],
    [envFile[1], []],
  ]);
});

test("names that every object inherits are variables like any other", (context) => {
  const folder = folderOf(context, { ".env": "__proto__=a\n" });
  const env = { URL: "${__proto__}", WHO: "${constructor:-nobody}" };
  assert.deepEqual(Object.entries(variablesOf({ envFile: [join(folder, ".env")], env }, { own: {} })), [
    ["__proto__", "a"],
    ["URL", "a"],
    ["WHO", "nobody"],
  ]);
  assert.match(problemOf({ env: { URL: "${toString}" } }), /needs toString, which is not set/);
});
