import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type TestContext, test } from "node:test";
import { certificateIn } from "../../../../test/support/certificate.ts";
import { resolveConfiguration } from "../validate.ts";

function folderOf(context: TestContext, files: Readonly<Record<string, string>> = {}): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "procman-files-")));
  context.after(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

/** As `line:column path message`, without the folder. */
function warningsOf(folder: string, data: unknown, looksAtFiles = true): readonly string[] {
  const { warnings } = resolveConfiguration(JSON.stringify(data), { file: join(folder, "procman.json"), looksAtFiles });
  return warnings.map(
    ({ line, column, path, message }) => `${line}:${column} ${path} ${message.replaceAll(`${folder}/`, "")}`,
  );
}

/** Its command needs a shell, so that nothing is known of its program. */
const process = (more: object) => ({ id: "web", cmd: "[", autostart: true, ...more });

test("2.2 envFile: malformed lines are reported with file and line, once for all processes that name it", (context) => {
  const folder = folderOf(context, { ".env": "A=1\nB: 2\nC='3\n", "good.env": "A=1\n" });
  const processes = [process({ envFile: ["good.env", ".env"] }), process({ id: "mail", envFile: "./.env" })];
  assert.deepEqual(warningsOf(folder, { processes }), [
    '1:76 processes[0].envFile[1] Found ".env": .env:2 is not NAME=value and is ignored; write it like that, or put # in front of it.',
    '1:76 processes[0].envFile[1] Found ".env": .env:3 opens a quote that is never closed, so the quote is part of the value; close it, or use other quotes.',
  ]);
  assert.deepEqual(warningsOf(folder, { processes }, false), [], "only whoever wants that has it");
});

test("2.2 envFile: of a file of another kind, five lines are reported", (context) => {
  const folder = folderOf(context, { "x.yaml": "a: 1\n".repeat(9) });
  const warnings = warningsOf(folder, { processes: [process({ envFile: "x.yaml" })] });
  assert.equal(warnings.length, 6);
  assert.match(warnings.at(-1) ?? "", /4 more lines of x\.yaml are malformed, too\.$/);
});

test("2.2 envFile: the files of all instances are checked", (context) => {
  const folder = folderOf(context, { "1.env": "A=1\n", "3001.env": "A=1\n" });
  const processes = [
    process({ envFile: ["{instance}.env", "{port}.env"], cluster: { instances: 2, startPort: 3000 } }),
  ];
  const warnings = warningsOf(folder, { processes });
  assert.equal(warnings.length, 2);
  assert.match(warnings[0] ?? "", /envFile\[0\] Found "\{instance\}\.env": there is no file 2\.env,/);
  assert.match(warnings[1] ?? "", /envFile\[1\] Found "\{port\}\.env": there is no file 3000\.env,/);
});

test("2.2 envFile: an optional file may be absent, not malformed; those of the top level are checked once, at their place", (context) => {
  const folder = folderOf(context, { "bad.env": "B: 2\n" });
  const envFile = [{ path: "gone.env", optional: true }, { path: "bad.env", optional: true }, { path: "needed.env" }];
  const warnings = warningsOf(folder, {
    envFile,
    processes: [process({ envFile: "bad.env" }), process({ id: "mail" })],
  });
  assert.equal(warnings.length, 2);
  assert.match(warnings[0] ?? "", /envFile\[1\]\.path Found "bad\.env": bad\.env:1 is not NAME=value/);
  assert.match(warnings[1] ?? "", /envFile\[2\]\.path Found "needed\.env": there is no file needed\.env/);
});

test("2.2 envFile, worker: a missing or unreadable file is reported", (context) => {
  const folder = folderOf(context, { "there.mjs": "", "sub/x": "" });
  const processes = [
    process({ envFile: "gone.env" }),
    process({ id: "a", envFile: "sub" }),
    { id: "b", worker: "there.mjs", autostart: true },
    { id: "c", worker: ["gone.mjs", "x"], autostart: true },
  ];
  const warnings = warningsOf(folder, { processes }).map((line) => line.replace(/^\S+ /, ""));
  assert.deepEqual(warnings, [
    'processes[0].envFile Found "gone.env": there is no file gone.env, without which its process can\'t start; create it, or correct "envFile".',
    'processes[1].envFile Found "sub": sub can\'t be read: it is a folder.',
    'processes[3].worker[0] Found "gone.mjs", but there is no file gone.mjs; create it, or correct "worker".',
  ]);
});

test("the file of stdin: a missing one and a folder are reported, in a cluster those of all instances", (context) => {
  const folder = folderOf(context, { "answers.txt": "yes\n", "1.txt": "", "sub/x": "" });
  const processes = [
    process({ stdin: { file: "answers.txt" } }),
    process({ id: "a", stdin: { file: "gone.txt" } }),
    process({ id: "b", stdin: { file: "sub" } }),
    process({ id: "c", stdin: { file: "{instance}.txt" }, cluster: { instances: 2 } }),
  ];
  const warnings = warningsOf(folder, { processes }).map((line) => line.replace(/^\S+ /, ""));
  assert.deepEqual(warnings, [
    'processes[1].stdin.file Found "gone.txt": there is no file gone.txt, without which its process can\'t start; create it, or correct "stdin".',
    'processes[2].stdin.file Found "sub": sub is a folder; correct "stdin".',
    'processes[3].stdin.file Found "{instance}.txt": there is no file 2.txt, without which its process can\'t start; create it, or correct "stdin".',
  ]);
});

test("the current folder as a file is named by its whole path", (context) => {
  const folder = folderOf(context, {});
  const here = globalThis.process.cwd();
  const [, warning] = warningsOf(folder, { processes: [{ id: "web", cmd: "[", stdin: { file: here } }] });
  assert.ok(warning?.endsWith(`Found "${here}": ${here} is a folder; correct "stdin".`), warning);
});

test("2.5 a plugin with a missing file or package is reported with its place", (context) => {
  const folder = folderOf(context, {
    "here.mjs": "",
    "package.json": '{ "name": "shop" }',
    "node_modules/@scope/thing/x": "",
  });
  const urls = [
    "./here.mjs",
    "./gone.mjs",
    `file://${folder}/gone.mjs`,
    "@scope/thing/part",
    "shop",
    "@scope/gone/part",
    "#inner",
    "procman/otlp",
    "https://127.0.0.1/x@1.mjs",
  ];
  const warnings = warningsOf(folder, { processes: [process({})], plugins: urls.map((url) => ({ url })) });
  assert.deepEqual(
    warnings
      .filter((line) => !line.includes("integrity"))
      .map((line) => line.replace(/^\S+ /, "").replaceAll(folder, "")),
    [
      'plugins[1].url Found "./gone.mjs", but there is no file gone.mjs; create it, or correct "url".',
      'plugins[2].url Found "file://gone.mjs", but there is no file gone.mjs; create it, or correct "url".',
      'plugins[5].url Found "@scope/gone/part", but there is no package "@scope/gone" in node_modules or above; `npm install @scope/gone` there, or write "./@scope/gone/part" for a file.',
    ],
  );
});

test("no file is read if the configuration is not valid", (context) => {
  const folder = folderOf(context);
  const data = { processes: [process({ cmd: 5, envFile: "gone.env" })], plugins: [{ url: "file:" }] };
  assert.throws(() => warningsOf(folder, data), { code: "configuration-invalid" });
});

test("api.tls: files that can't be used are reported, with what is wrong", (context) => {
  const folder = folderOf(context);
  certificateIn(folder, {});
  certificateIn(folder, { name: "other" });
  const api = (certificate: string, key: string): object => ({
    processes: [],
    api: { hostname: "0.0.0.0", tls: { certificate, key } },
  });
  const ofTls = (data: object): readonly string[] => warningsOf(folder, data).filter((line) => line.includes("api"));
  assert.deepEqual(ofTls(api("own.pem", "own.key")), []);
  assert.deepEqual(ofTls(api("own.pem", "other.key")), [
    "1:51 api.tls Found files that can't be used: other.key is not the key of own.pem.",
  ]);
  assert.deepEqual(ofTls(api("none.pem", "own.key")), [
    "1:51 api.tls Found files that can't be used: none.pem can't be read: there is no such file.",
  ]);
});

test('2.6 hostname: an address that other machines can reach needs TLS, or "insecure"', (context) => {
  const folder = folderOf(context);
  const of = (api: object | false): readonly string[] =>
    warningsOf(folder, { processes: [], api }).filter((line) => line.includes("api"));
  for (const hostname of ["127.0.0.1", "127.1.2.3", "localhost", "::1"]) assert.deepEqual(of({ hostname }), []);
  for (const hostname of ["0.0.0.0", "::", "10.1.2.3", "web1.example.org", "127.0.0.1.example.org"])
    assert.deepEqual(of({ hostname }), [
      `1:35 api.hostname Found "${hostname}", which other machines can reach, and no "tls": tokens and logs travel unencrypted. Add "tls": { "certificate": "…", "key": "…" }, or "insecure": true if a reverse proxy in front does that.`,
    ]);
  assert.deepEqual(of({ hostname: "0.0.0.0", insecure: true }), []);
  assert.deepEqual(of(false), []);
});
