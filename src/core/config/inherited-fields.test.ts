import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { inheritingConfiguration } from "../../../test/support/arbitrary-configuration.ts";
import type { RawProcess } from "./config-schema.ts";
import { dataOf, load } from "./load.ts";
import { ConfigurationError } from "./problems.ts";
import type { ProcessSpec } from "./spec.ts";
import { type CheckOptions, checkConfiguration, resolveConfiguration } from "./validate.ts";

const HERE = { file: "/srv/procman.json", shownAs: "p.json" };

/** The processes in effect, as they would be written without `defaults` and `extends`. */
function written(input: unknown, options: CheckOptions = {}): readonly RawProcess[] {
  return checkConfiguration(input, { ...HERE, ...options }).raw.processes;
}

function problems(input: unknown, options: CheckOptions = {}): readonly string[] {
  try {
    resolveConfiguration(input, { ...HERE, ...options });
  } catch (error) {
    assert.ok(error instanceof ConfigurationError, String(error));
    return error.problems.map(({ line, column, path, message }) => `${line}:${column} ${path} ${message}`);
  }
  return [];
}

function folderOf(t: Pick<TestContext, "after">, files: Readonly<Record<string, object>>): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-inherited-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), JSON.stringify(content));
  }
  return folder;
}

const byId = (specs: readonly ProcessSpec[]): Readonly<Record<string, ProcessSpec>> =>
  Object.fromEntries(specs.map((spec) => [spec.id, spec]));

test("defaults hold for each process that doesn't say otherwise: objects key by key, lists and values replaced", () => {
  const defaults = {
    autostart: true,
    env: { A: "1", B: { file: "b" } },
    watch: ["a", "b"],
    logger: { stdout: "{id}.log", rotate: { size: 5, gzip: false } },
  };
  const mail = { env: { B: { env: "HOME" }, C: "3" }, watch: ["c"], logger: { rotate: { size: 6 } }, autostart: false };
  const processes = [
    { id: "web", cmd: "x" },
    { id: "mail", worker: "m.js", ...mail },
  ];
  assert.deepEqual(written({ defaults, processes }), [
    { id: "web", cmd: "x", ...defaults },
    {
      id: "mail",
      worker: "m.js",
      ...mail,
      env: { A: "1", B: { env: "HOME" }, C: "3" },
      logger: { stdout: "{id}.log", rotate: { size: 6, gzip: false } },
    },
  ]);
});

test("a process has all fields but the id of the one that it extends, and that of the next one; its own come first, defaults last", () => {
  const processes = [
    { id: "last", extends: "middle", env: { A: "last" }, timeout: 3 },
    { id: "first", cmd: "x", env: { A: "first", B: "first", C: "first" }, timeout: 1, nice: 1 },
    { id: "middle", extends: "first", env: { A: "middle", B: "middle" }, timeout: 2 },
  ];
  const defaults = { env: { C: "common", D: "common" }, nice: 5, umask: "027" };
  const [last] = written({ defaults, processes });
  assert.deepEqual(last, {
    id: "last",
    cmd: "x",
    env: { A: "last", B: "middle", C: "first", D: "common" },
    timeout: 3,
    nice: 1,
    umask: "027",
  });
});

test("of fields that exclude each other the nearest counts: cmd and worker, and the kinds of ready and health", () => {
  const base = {
    id: "base",
    cmd: "x",
    ready: { port: 80, timeout: 5 },
    health: { http: "http://localhost/", failures: 2 },
  };
  const own = { id: "own", extends: "base", worker: "w.js", ready: { log: "up" }, health: { exec: "true" } };
  assert.deepEqual(written({ processes: [base, own] })[1], {
    id: "own",
    worker: "w.js",
    ready: { timeout: 5, log: "up" },
    health: { failures: 2, exec: "true" },
  });
});

test("null takes away what is inherited, and is refused where nothing is; in a profile it takes away anything", () => {
  const defaults = { cron: "0 3 * * *", env: { A: "1", B: "2" }, logger: { stdout: "a.log", stderr: "b.log" } };
  const web = { id: "web", cmd: "x", cron: null, env: { A: null }, logger: { stdout: null } };
  assert.deepEqual(written({ defaults, processes: [web] }), [
    { id: "web", cmd: "x", env: { B: "2" }, logger: { stderr: "b.log" } },
  ]);
  assert.deepEqual(problems({ processes: [{ ...web, env: {}, logger: {} }] }), [
    "0:0 processes[0].cron Found null; allowed: a cron pattern, not empty. Leave it out: null only removes what is inherited.",
  ]);
  const production = { timeZone: null, processes: [{ id: "web", user: null, cron: null }] };
  const file = { timeZone: "UTC", processes: [{ id: "web", cmd: "x", cron: "0 3 * * *" }], profiles: { production } };
  const { raw } = checkConfiguration(file, { ...HERE, profile: "production" });
  assert.deepEqual([raw.timeZone, raw.processes], [undefined, [{ id: "web", cmd: "x" }]]);
});

test("a profile changes defaults, a process that others extend, and what it extends", () => {
  const file = {
    defaults: { nice: 1, umask: "022" },
    processes: [
      { id: "base", cmd: "base", env: { A: "1" } },
      { id: "other", cmd: "other" },
      { id: "web", extends: "base", nice: 3 },
    ],
    profiles: {
      nicer: { defaults: { nice: 9, umask: null } },
      more: {
        processes: [
          { id: "base", env: { B: "2" } },
          { id: "added", extends: "web" },
        ],
      },
      switched: { processes: [{ id: "web", extends: "other" }] },
      bare: { defaults: null, processes: [{ id: "web", extends: null, cmd: "web" }] },
    },
  };
  assert.deepEqual(written(file, { profile: "nicer" }), [
    { id: "base", cmd: "base", env: { A: "1" }, nice: 9 },
    { id: "other", cmd: "other", nice: 9 },
    { id: "web", cmd: "base", env: { A: "1" }, nice: 3 },
  ]);
  const env = { A: "1", B: "2" };
  assert.deepEqual(written(file, { profile: "more" }).slice(2), [
    { id: "web", cmd: "base", env, nice: 3, umask: "022" },
    { id: "added", cmd: "base", env, nice: 3, umask: "022" },
  ]);
  assert.deepEqual(written(file, { profile: "switched" })[2], { id: "web", cmd: "other", nice: 3, umask: "022" });
  assert.deepEqual(written(file, { profile: "bare" })[2], { id: "web", cmd: "web", nice: 3 });
});

test("a profile replaces a variable of defaults, and the kind of a check in it", () => {
  const file = {
    defaults: { env: { A: { file: "a" } }, ready: { port: 80, timeout: 5 } },
    processes: [{ id: "web", cmd: "x" }],
    profiles: { ci: { defaults: { env: { A: { env: "B" } }, ready: { log: "up" } } } },
  };
  assert.deepEqual(written(file, { profile: "ci" }), [
    { id: "web", cmd: "x", env: { A: { env: "B" } }, ready: { timeout: 5, log: "up" } },
  ]);
});

test("a problem of defaults is shown there, once, however many processes have it", () => {
  const text = `{
  "defaults": {
    "timeout": "5",
    "cron": "bad",
    "cmd": "x",
    "tiemout": 5
  },
  "processes": [
    { "id": "a", "cmd": "x" }, { "id": "b", "cmd": "x" }, { "id": "c", "cmd": "x" }, { "id": "d", "cmd": "x" },
    { "id": "e", "cmd": "x" }
  ]
}`;
  const found = problems(text);
  assert.deepEqual(
    found.map((problem) => problem.split(" Found", 1)[0]),
    ["3:16 defaults.timeout", "4:13 defaults.cron", "5:5 defaults.cmd", "6:5 defaults.tiemout"],
  );
  assert.match(found[0] ?? "", /Write it without quotes: 5\.$/);
  assert.match(found[1] ?? "", /allowed: a cron pattern\. .* Inherited by "a", "b", "c" and 2 more\.$/);
  assert.match(found[2] ?? "", /Found "cmd" in "defaults"; allowed: only in a process\.$/);
  assert.match(found[3] ?? "", /Did you mean "timeout"\?$/);
  assert.deepEqual(problems({ defaults: 5, processes: [] }), [
    "0:0 defaults Found 5; allowed: an object with fields of a process.",
  ]);
});

test("a problem that only the combination has is shown where the value is written, with the process", () => {
  const text = `{
  "defaults": { "autostart": true },
  "processes": [
    { "id": "job", "cmd": "x", "task": true },
    { "id": "again", "extends": "job" },
    { "id": "web", "cmd": "x" }
  ]
}`;
  assert.deepEqual(problems(text), [
    '2:17 defaults.autostart Found "autostart" with "task", which is started by hand; remove one of them. Inherited by "job", "again".',
  ]);
});

test("a fixed port that two processes inherit is refused with a remedy", () => {
  const processes = ["a", "b"].map((id) => ({ id, cmd: "x" }));
  assert.deepEqual(problems(JSON.stringify({ defaults: { port: 3000 }, processes })), [
    '1:21 defaults.port Found 3000, but a port belongs to one process only. Give each another one, or write "auto". Inherited by "b".',
  ]);
});

test("a warning about an inherited value comes once", () => {
  const processes = ["a", "b"].map((id) => ({ id, cmd: "x", autostart: true }));
  const { warnings } = resolveConfiguration({ defaults: { jitter: 5 }, processes }, HERE);
  assert.deepEqual(
    warnings.map(({ path, message }) => `${path} ${message}`),
    [
      'defaults.jitter Found "jitter" without "cron": there is no schedule that it could apply to. Inherited by "a", "b".',
    ],
  );
});

test("a default that applies to some processes is no reason for a warning", () => {
  const processes = [
    { id: "job", cmd: "x", cron: "0 3 * * *" },
    { id: "web", cmd: "x", autostart: true },
  ];
  const { warnings } = resolveConfiguration({ defaults: { jitter: 5 }, processes }, HERE);
  assert.deepEqual(warnings, []);
});

test("an unknown id, the process itself and a cycle are refused, a cycle with both places", () => {
  const text = `{ "processes": [
  { "id": "web", "extends": "wbe" },
  { "id": "self", "cmd": "x", "extends": "self" },
  { "id": "into", "extends": "b" },
  { "id": "a", "extends": "b" },
  { "id": "b", "extends": "c" },
  { "id": "c", "extends": "a" },
  { "id": "odd", "cmd": "x", "extends": 5 }
] }`;
  assert.deepEqual(problems(text), [
    '2:29 processes[0].extends Found "wbe"; allowed: the id of another process. Did you mean "web"?',
    '3:42 processes[1].extends Found "self", the process itself; allowed: the id of another process.',
    "5:27 processes[3].extends Found a cycle: a → b → c → a, closed by processes[5].extends; allowed: a process that extends none of these.",
    '8:41 processes[6].extends Found 5; allowed: 1 to 64 characters from a-z, 0-9, ".", "_" and "-". Write it in double quotes: "5".',
  ]);
  assert.deepEqual(problems('{ "processes": [{ "id": "a", "cmd": "x", "extends": "" }] }'), [
    '1:53 processes[0].extends Found ""; allowed: 1 to 64 characters from a-z, 0-9, ".", "_" and "-".',
  ]);
});

test("up to twenty processes extend one another", () => {
  const chain = (count: number): object => ({
    processes: Array.from({ length: count + 1 }, (_, index) =>
      index === 0 ? { id: "p0", cmd: "x", nice: 3 } : { id: `p${index}`, extends: `p${index - 1}` },
    ),
  });
  assert.deepEqual(written(chain(20)).at(-1), { id: "p20", cmd: "x", nice: 3 });
  assert.match(
    problems(chain(21)).join("\n"),
    /processes\[21\]\.extends Found more than 20 processes that extend one another/,
  );
});

test("an included file has defaults for its own processes, over those of the main file; paths resolve from its folder", (t) => {
  const folder = folderOf(t, {
    "procman.json": {
      include: ["apps/*/procman.json"],
      defaults: { nice: 1, umask: "027", cwd: "work", pidFile: "{id}.pid", timeout: 5 },
      processes: [
        { id: "web", cmd: "x", extends: "a" },
        { id: "own", cmd: "x" },
      ],
    },
    "apps/a/procman.json": {
      defaults: { nice: 2, envFile: ".env", timeout: null },
      processes: [
        { id: "a", cmd: "x" },
        { id: "c", cmd: "x", nice: 3, cwd: "c" },
      ],
    },
    "apps/b/procman.json": { processes: [{ id: "b", extends: "c" }] },
  });
  const { a, b, c, web, own } = byId(load(undefined, folder).processes);
  assert.deepEqual(
    [own, web, a, b, c].map((spec) => spec?.nice),
    [1, 1, 2, 3, 3],
  );
  assert.deepEqual(
    [own, web, a, b, c].map((spec) => spec?.cwd),
    ["work", "work", "apps/a", "apps/a/c", "apps/a/c"].map((path) => join(folder, path)),
  );
  assert.deepEqual([a?.envFile, b?.envFile, web?.envFile], [[join(folder, "apps/a/.env")], undefined, undefined]);
  assert.deepEqual([a?.pidFile, a?.policy.timeoutMs, b?.policy.timeoutMs], [join(folder, "a.pid"), 0, 5_000]);
});

test("a problem in the defaults of an included file is shown in that file", (t) => {
  const folder = folderOf(t, {
    "procman.json": { include: ["b.json"], processes: [] },
    "b.json": { defaults: { nice: 77, id: "x", foo: 1 }, processes: [{ id: "b", cmd: "x", autostart: true }] },
  });
  assert.throws(
    () => load(undefined, folder),
    (error) => {
      assert.ok(error instanceof ConfigurationError);
      assert.deepEqual(
        error.problems.map(({ file, path }) => `${file.replace(`${folder}/`, "")} ${path}`),
        ["b.json defaults.nice", "b.json defaults.id", "b.json defaults.foo"],
      );
      return true;
    },
  );
});

test("what reads a file before it is checked sees what processes inherit", (t) => {
  const folder = folderOf(t, {
    "b.json": { processes: [{ id: "b", extends: "a" }] },
  });
  const file = join(folder, "procman.json");
  const text = JSON.stringify({ include: ["b.json"], processes: [{ id: "a", cluster: { instances: 2 } }] });
  const { processes } = dataOf({ file, shownAs: file, text }) as { readonly processes: readonly RawProcess[] };
  assert.deepEqual(processes[1], { id: "b", cwd: folder, cluster: { instances: 2 } });
});

test("numbers of variables in defaults are passed as they are written", () => {
  const text = '{ "defaults": { "env": { "V": 1.10 } }, "processes": [{ "id": "a", "cmd": "x", "autostart": true }] }';
  assert.deepEqual(resolveConfiguration(text, HERE).processes[0]?.env, { V: "1.10" });
});

function meaning(config: unknown, options: CheckOptions): unknown {
  try {
    const { profile: _profile, warnings, ...rest } = resolveConfiguration(config, { ...HERE, ...options });
    return { ...rest, warnings: warnings.length };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return "invalid";
  }
}

test("a file with defaults and extends means the same as the file that is written out, with each profile", () => {
  fc.assert(
    fc.property(inheritingConfiguration, (config) => {
      const plain = meaning(config, {});
      fc.pre(plain !== "invalid");
      const { raw } = checkConfiguration(config, HERE);
      assert.ok(!JSON.stringify(raw).includes('"extends"'));
      const without = (meant: unknown): unknown =>
        meant === "invalid" ? meant : { ...(meant as object), warnings: 0 };
      for (const options of [{}, ...(config.profiles === undefined ? [] : [{ profile: "ci" }])])
        assert.deepEqual(without(meaning(raw, options)), without(meaning(config, options)));
    }),
    { numRuns: 30 },
  );
});
