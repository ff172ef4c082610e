/** No file that procman writes for a process is one that is read, or that has another content. */
import assert from "node:assert/strict";
import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigurationError } from "../problems.ts";
import { resolveConfiguration } from "../validate.ts";

type Part = Readonly<Record<string, unknown>>;

function folderFor(t: { after: (run: () => void) => void }): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "procman-written-")));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** `path message` of each problem. The file of the configuration exists while it is checked. */
function problemsOf(folder: string, web: Part, top: Part = {}): readonly string[] {
  const file = join(folder, "procman.json");
  const text = JSON.stringify({ ...top, processes: [{ id: "web", cmd: "x", autostart: true, ...web }] });
  writeFileSync(file, text);
  try {
    resolveConfiguration(text, { file, shownAs: "procman.json" });
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems.map(({ path, message }) => `${path} ${message}`);
  }
}

const ALLOWED = "procman would overwrite it. Allowed: a file used for nothing else.";

test("a pid file or log that is the configuration file is an error with its place", (t) => {
  const folder = folderFor(t);
  const itself = `Found "procman.json", the configuration file itself: ${ALLOWED}`;
  assert.deepEqual(problemsOf(folder, { pidFile: "procman.json" }), [`processes[0].pidFile ${itself}`]);
  for (const key of ["stdout", "stderr"]) {
    assert.deepEqual(problemsOf(folder, { logger: { [key]: "procman.json" } }), [
      `processes[0].logger.${key} ${itself}`,
    ]);
    assert.deepEqual(problemsOf(folder, {}, { logger: { [key]: "procman.json" } }), [`logger.${key} ${itself}`]);
  }
});

test("it is found behind links, hard links, `..` and placeholders, also in one of many instances", (t) => {
  const folder = folderFor(t);
  mkdirSync(join(folder, "run"));
  problemsOf(folder, {});
  symlinkSync("../procman.json", join(folder, "run/link.pid"));
  symlinkSync(folder, join(folder, "self"));
  linkSync(join(folder, "procman.json"), join(folder, "run/hard.pid"));
  for (const path of [
    "run/link.pid",
    "self/procman.json",
    "run/hard.pid",
    "run/../procman.json",
    "{process}/../procman.json",
  ])
    assert.match(
      problemsOf(folder, { pidFile: path, id: "run" }).join(),
      /processes\[0\]\.pidFile .*the configuration file itself/,
      path,
    );
  symlinkSync("procman.json", join(folder, "web-2"));
  assert.match(
    problemsOf(folder, { pidFile: "{id}", cluster: { instances: 2 } }).join(),
    /pidFile .*the configuration file itself/,
  );
});

test("nor may they be what else is read: included files, env files, secrets, scripts, plugins, certificates, the state folder", (t) => {
  const folder = folderFor(t);
  writeFileSync(join(folder, "more.json"), '{"processes": []}');
  writeFileSync(join(folder, "plugin.mjs"), "");
  const read: readonly (readonly [string, Part, Part, RegExp])[] = [
    ["more.json", {}, { include: ["more.json"] }, /which the configuration includes/],
    [".env", { envFile: ".env" }, {}, /which processes\[0\]\.envFile reads/],
    [
      ".env",
      { envFile: [{ path: "./x/../.env", optional: true }] },
      {},
      /which processes\[0\]\.envFile\[0\]\.path reads/,
    ],
    ["web.env", {}, { envFile: "web.env" }, /which envFile reads/],
    ["answers", { stdin: { file: "answers" } }, {}, /which processes\[0\]\.stdin\.file reads/],
    ["key", { env: { KEY: { file: "key" } } }, {}, /which processes\[0\]\.env\.KEY\.file reads/],
    ["key", {}, { env: { KEY: { file: "key" } } }, /which env\.KEY\.file reads/],
    ["main.js", { cmd: undefined, worker: ["main.js", "x"] }, {}, /which processes\[0\]\.worker reads/],
    ["plugin.mjs", {}, { plugins: [{ url: "./plugin.mjs" }] }, /which plugins\[0\]\.url reads/],
    [
      "key.pem",
      {},
      { api: { port: 9001, tls: { certificate: "cert.pem", key: "key.pem" } } },
      /which api\.tls\.key reads/,
    ],
    [".procman/procman/lock", {}, {}, /which belongs to procman's state folder/],
    [".procman", {}, {}, /which belongs to procman's state folder/],
  ];
  for (const [path, web, top, expected] of read) {
    assert.match(problemsOf(folder, { ...web, pidFile: path }, top).join(), expected, path);
    assert.match(problemsOf(folder, { ...web, logger: { stdout: path } }, top).join(), expected, path);
  }
});

test("a pid file is not a log file of any process; logs may be shared, and devices are for all", (t) => {
  const folder = folderFor(t);
  const log = { logger: { stdout: "web.log" } };
  assert.deepEqual(problemsOf(folder, { ...log, pidFile: "./web.log" }), [
    `processes[0].pidFile Found "./web.log", the log file of processes[0].logger.stdout: ${ALLOWED}`,
  ]);
  assert.match(
    problemsOf(folder, { pidFile: "all-web" }, { logger: { stderr: "all-{id}" } }).join(),
    /pidFile .*the log file of logger\.stderr/,
  );
  assert.deepEqual(
    problemsOf(folder, { logger: { stdout: "web.log", stderr: "web.log" }, pidFile: "web.pid", envFile: ".env" }),
    [],
  );
  assert.deepEqual(problemsOf(folder, { logger: { stdout: "/dev/null" }, envFile: "/dev/null" }), []);
  assert.deepEqual(problemsOf(folder, { logger: { stdout: ".procman-logs/web.log" } }), []);
});
