import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { type TestContext, test } from "node:test";
import { Command } from "commander";
import { ProcmanError } from "../../core/base/errors.ts";
import { load } from "../../core/config/load.ts";
import { ask } from "../edit-file.ts";
import { define as append } from "./append-command.ts";
import { define as init } from "./init-command.ts";
import { define as remove } from "./remove-command.ts";
import { define as schema } from "./schema-command.ts";
import { define as token } from "./token-command.ts";
import { define as validate } from "./validate-command.ts";

const FILE = `{
  // The shop.
  "processes": [
    { "id": "web", "cmd": "node web.js", "autostart": true }, // behind nginx
    // Once a night.
    { "id": "report", "cmd": "node report.js", "cron": "0 3 * * *" }
  ]
}
`;

type Outcome = { readonly stdout: string; readonly stderr: string; readonly error: unknown };

/** A temporary folder in which commands run as from the command line. */
function desk(t: TestContext, files: Readonly<Record<string, string>> = {}) {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "procman-cli-")));
  const before = process.cwd();
  process.chdir(folder);
  t.after(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true });
  });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return {
    folder,
    text: (name = "procman.jsonc") => readFileSync(join(folder, name), "utf8"),
    run: (...args: readonly string[]) => run(t, args),
  };
}

async function run(t: TestContext, args: readonly string[]): Promise<Outcome> {
  const program = new Command("procman").exitOverride().configureOutput({ writeErr: () => undefined });
  for (const define of [init, append, remove, validate, schema, token]) define(program);
  for (const command of program.commands) command.exitOverride().configureOutput({ writeErr: () => undefined });
  const [stdout, stderr] = [captured(t, process.stdout), captured(t, process.stderr)];
  let error: unknown;
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (thrown) {
    error = thrown;
  }
  return { stdout: stdout(), stderr: stderr(), error };
}

/** Captures the command's output; passes on that of the test runner. */
function captured(t: TestContext, stream: NodeJS.WriteStream): () => string {
  const parts: string[] = [];
  const original = stream.write.bind(stream);
  const mock = t.mock.method(stream, "write", (chunk: string | Uint8Array, ...rest: never[]) =>
    typeof chunk === "string" ? parts.push(chunk) > 0 : original(chunk, ...rest),
  );
  return () => {
    mock.mock.restore();
    return parts.join("");
  };
}

function refused({ error }: Outcome, code: string, message: RegExp): void {
  assert.ok(error instanceof ProcmanError, String(error));
  assert.equal(error.code, code);
  assert.match(error.message, message);
}

test("token refuses a revoked consumer, and --rotate for one replaces no secret", async (t) => {
  const { run } = desk(t, { "procman.json": '{ "name": "shop", "processes": [], "api": { "revoked": ["ci"] } }' });
  for (const more of [[], ["--rotate"]])
    refused(
      await run("token", "--consumer", "ci", ...more),
      "input-invalid",
      /consumer "ci" are revoked; remove it from "api.revoked" in .*procman.json/,
    );
  assert.ok(!existsSync(".procman"));
  assert.match((await run("token", "--consumer", "me")).stdout, /^ey\S+\n$/);
});

test("validate --json prints a result for a file that is missing or can't be read, too", async (t) => {
  const { run } = desk(t);
  mkdirSync("folder.json");
  writeFileSync("latin1.json", Buffer.from([0x7b, 0xe4, 0x7d]));
  for (const [args, file] of [
    [[], undefined],
    [["--config", "none.json"], "none.json"],
    [["--config", "folder.json"], "folder.json"],
    [["--config", "latin1.json"], "latin1.json"],
  ] as const) {
    const { stdout, error } = await run("validate", "--json", ...args);
    assert.ok(error instanceof ProcmanError && error.exitCode === 78);
    const result = JSON.parse(stdout) as {
      readonly file?: string;
      readonly valid: boolean;
      readonly problems: readonly unknown[];
    };
    assert.deepEqual([result.file, result.valid, result.problems.length], [file, false, 1]);
  }
});

test("token says on standard error what a token without limits may do; standard output has the token alone", async (t) => {
  const { run } = desk(t, { "procman.json": '{ "name": "shop", "processes": [] }' });
  const told = async (...more: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await run("token", "--consumer", "ci", ...more);
    assert.match(stdout, /^ey\S+\n$/);
    return stderr;
  };
  const remedy = `; "ci" in "api.revoked" revokes it\n`;
  const all = "procman: this token may do everything but type into processes (see --scope)";
  assert.equal(await told(), `${all} and doesn't expire (see --expire-in)${remedy}`);
  assert.equal(await told("--scope", "read"), `procman: this token doesn't expire (see --expire-in)${remedy}`);
  assert.equal(await told("--expire-in", "60"), `${all}${remedy}`);
  assert.equal(await told("--scope", "read", "--expire-in", "60"), "");
});

test("init creates a valid file with comments", async (t) => {
  const { run, folder, text } = desk(t);
  const { stdout, stderr, error } = await run("init", "--name", "shop", "--id", "web", "--cmd", "node server.js");
  assert.deepEqual(
    { stdout, stderr, error },
    { stdout: "procman.jsonc: created; `procman run` starts it\n", stderr: "", error: undefined },
  );
  assert.match(text(), /\/\/ What procman runs here/);
  const { name, processes, warnings } = load(undefined, folder);
  assert.deepEqual(
    { name, ids: processes.map(({ id, autostart }) => ({ id, autostart })), warnings },
    { name: "shop", ids: [{ id: "web", autostart: true }], warnings: [] },
  );
});

test("init --config creates that file; --worker and all other options are written", async (t) => {
  const { run, folder } = desk(t);
  mkdirSync("conf");
  const flags = [
    "--id",
    "job",
    "--worker",
    "job.js",
    "--cwd",
    "..",
    "--cron",
    "0 3 * * *",
    "--env",
    "A=b=c",
    "--env",
    "D=",
    "--restart",
    "always",
    "--instances",
    "2",
    "--start-port",
    "4000",
    "--stdout",
    "{id}.log",
  ];
  const { error } = await run("init", "--config", "conf/other.json", ...flags);
  assert.equal(error, undefined);
  assert.ok(!existsSync("procman.jsonc"));
  const [first] = load("conf/other.json", folder).processes;
  assert.ok(first !== undefined);
  const { id, command, cwd, cron, env, autostart, policy, cluster, log } = first;
  assert.deepEqual(
    { id, command, cwd, cron, env, autostart, restart: policy.restart, cluster, stdout: log.stdout },
    {
      id: "job-1",
      command: { kind: "worker", script: join(folder, "conf/job.js"), args: [] },
      cwd: folder,
      cron: "0 3 * * *",
      env: { A: "b=c", D: "" },
      autostart: false,
      restart: "always",
      cluster: { id: "job", index: 0, port: 4000 },
      stdout: join(folder, "conf/job-1.log"),
    },
  );
});

test("init overwrites nothing without --force, not even by creating a file that takes precedence", async (t) => {
  const { run, text } = desk(t, { "procman.json": FILE });
  refused(
    await run("init", "--id", "a", "--cmd", "x"),
    "file-exists",
    /^Cannot create procman\.json: it already exists/,
  );
  assert.equal(text("procman.json"), FILE);
  assert.ok(!existsSync("procman.jsonc"));
  assert.equal((await run("init", "--id", "a", "--cmd", "x", "--force")).error, undefined);
  assert.match(text("procman.json"), /"id": "a"/);
});

test("init without a terminal names the missing options", async (t) => {
  const { run, folder } = desk(t);
  refused(await run("init"), "usage", /--id and --cmd or --worker must be given/);
  refused(await run("init", "--id", "a"), "usage", /^Cannot create a configuration: --cmd or --worker must be given/);
  assert.deepEqual(readdirSync(folder), []);
});

test("init writes no invalid file, and explains why a file can't be created", async (t) => {
  const { run, folder } = desk(t);
  refused(await run("init", "--id", "Web", "--cmd", "x"), "configuration-invalid", /Write it in lower case: "web"/);
  refused(
    await run("init", "--id", "a", "--cmd", "x", "--config", "none/x.json"),
    "configuration-missing",
    /its folder does not exist/,
  );
  assert.deepEqual(readdirSync(folder), []);
});

test("append keeps every byte of the file and adds a process at the end", async (t) => {
  const { run, text } = desk(t, { "procman.jsonc": FILE });
  const { stdout, error } = await run("append", "--id", "mail", "--cmd", "node mail.js");
  assert.deepEqual({ stdout, error }, { stdout: 'procman.jsonc: added "mail"\n', error: undefined });
  assert.equal(
    text(),
    FILE.replace('"0 3 * * *" }\n', '"0 3 * * *" },\n    { "id": "mail", "cmd": "node mail.js", "autostart": true }\n'),
  );
});

test("append: autostart unless another start policy is given, or it is turned off", async (t) => {
  const { run, folder } = desk(t, { "procman.jsonc": FILE });
  await run("append", "--id", "a", "--cmd", "x");
  await run("append", "--id", "b", "--cmd", "x", "--cron", "* * * * *");
  await run("append", "--id", "c", "--cmd", "x", "--cron", "* * * * *", "--autostart");
  const { stderr } = await run("append", "--id", "d", "--cmd", "x", "--no-autostart");
  assert.match(stderr, /1 warning[\s\S]*No start policy: "d"/);
  assert.deepEqual(
    load(undefined, folder)
      .processes.slice(2)
      .map(({ autostart }) => autostart),
    [true, false, true, false],
  );
});

test("append of a process that the file has already, equal, is done and changes nothing", async (t) => {
  const file = `${FILE.slice(0, FILE.indexOf("[") + 1)}
    { "cmd": "node mail.js", "id": "mail", "env": { "B": "2", "A": "1" }, /* kept */ "autostart": true },
  ]
}
`;
  const { run, text } = desk(t, { "procman.jsonc": file });
  const again = ["append", "--id", "mail", "--cmd", "node mail.js", "--env", "A=1", "--env", "B=2"];
  const { stdout, error } = await run(...again);
  assert.deepEqual([stdout, error], ['procman.jsonc: already has this "mail", so nothing is changed\n', undefined]);
  refused(await run(...again, "--cwd", "mail"), "configuration-invalid", /the same id/);
  refused(await run("append", "--id", "mail", "--cmd", "node mail.js"), "configuration-invalid", /the same id/);
  assert.equal(text(), file);
});

test("append: an invalid result changes nothing", async (t) => {
  const { run, text } = desk(t, { "procman.jsonc": FILE });
  refused(
    await run("append", "--id", "web", "--cmd", "x"),
    "configuration-invalid",
    /^Cannot append "web": procman\.jsonc would become invalid, so it stays unchanged\n\n[\s\S]*"web"; processes\[0\]\.id already has the same id/,
  );
  refused(await run("append", "--id", "a", "--cmd", "x", "--cron", "99 * * * *"), "configuration-invalid", /minute 99/);
  refused(await run("append", "--id", "a", "--cmd", "x", "--instances", "many"), "configuration-invalid", /or "max"/);
  refused(
    await run("append", "--id", "a", "--cmd", "x", "--worker", "y"),
    "usage",
    /both --cmd and --worker are given/,
  );
  refused(await run("append", "--id", "a", "--cmd", "x", "--env", "A"), "usage", /not NAME=VALUE/);
  refused(await run("append", "--cmd", "x"), "usage", /--id must be given/);
  assert.equal(text(), FILE);
});

test("init with both --cmd and --worker is a usage error, not an invalid configuration", async (t) => {
  const { run, folder } = desk(t);
  const outcome = await run("init", "--id", "a", "--cmd", "x", "--worker", "y");
  refused(outcome, "usage", /^Cannot create a configuration: both --cmd and --worker are given/);
  assert.deepEqual(readdirSync(folder), []);
});

test("--worker takes a script, or a list of a script and its arguments", async (t) => {
  const { run, text } = desk(t, { "procman.jsonc": '{ "processes": [] }' });
  await run("append", "--id", "a", "--worker", '["w.js", "x"]');
  await run("append", "--id", "b", "--worker", "[page].js");
  assert.deepEqual(
    JSON.parse(text()).processes.map(({ worker }: { readonly worker: unknown }) => worker),
    [["w.js", "x"], "[page].js"],
  );
  for (const bad of ['["w.js", x]', '["w.js", 1]'])
    refused(
      await run("append", "--id", "c", "--worker", bad),
      "usage",
      /is not a list of strings; write it as \["script\.js", "argument"\]/,
    );
  refused(await run("append", "--id", "c", "--worker", "[]"), "configuration-invalid", /at least one entry/);
});

test("append without a file explains how to create one", async (t) => {
  refused(await desk(t).run("append", "--id", "a", "--cmd", "x"), "configuration-missing", /procman init/);
});

test("edits replace the file atomically, keep its mode, follow links, and leave no files behind", async (t) => {
  const { run, folder } = desk(t, { "real.jsonc": FILE });
  chmodSync("real.jsonc", 0o640);
  symlinkSync("real.jsonc", "procman.jsonc");
  const { ino } = statSync("real.jsonc");
  assert.equal((await run("append", "--id", "a", "--cmd", "x")).error, undefined);
  assert.ok(lstatSync("procman.jsonc").isSymbolicLink());
  assert.equal(statSync("real.jsonc").mode & 0o777, 0o640);
  assert.notEqual(statSync("real.jsonc").ino, ino);
  assert.deepEqual(readdirSync(folder).sort(), ["procman.jsonc", "real.jsonc"]);
});

test("edits keep a byte order mark", async (t) => {
  const { run, text } = desk(t, { "procman.jsonc": `\uFEFF${FILE}` });
  await run("append", "--id", "a", "--cmd", "x");
  assert.ok(text().startsWith("\uFEFF{"));
  await run("remove", "a");
  assert.equal(text(), `\uFEFF${FILE}`);
});

test("remove takes a process with its comments, by argument or flag", async (t) => {
  const { run, text } = desk(t, { "procman.jsonc": FILE });
  const { stdout, error } = await run("remove", "report");
  assert.deepEqual({ stdout, error }, { stdout: 'procman.jsonc: removed "report"\n', error: undefined });
  assert.equal(text(), FILE.replace(/, \/\/ behind nginx[\s\S]*3 \* \* \*" }/, " // behind nginx"));
  await run("remove", "--id", "web");
  assert.match(text(), /"processes": \[\]/);
});

test("remove: an unknown id, a missing id, and a file that isn't JSON are refused", async (t) => {
  const { run, text } = desk(t, { "procman.jsonc": FILE, "bad.json": "{ processes: [] }" });
  refused(await run("remove", "rep0rt"), "process-unknown", /Did you mean "report"\?/);
  refused(await run("remove"), "usage", /id must be given/);
  refused(await run("remove", "a", "--id", "b"), "usage", /both "a" and "b"/);
  refused(await run("remove", "a", "--config", "bad.json"), "configuration-invalid", /bad\.json:1:3/);
  assert.equal(text(), FILE);
});

test("removing a process that others depend on is refused, and the file stays unchanged", async (t) => {
  const file =
    '{ "processes": [{ "id": "db", "cmd": "x", "autostart": true }, { "id": "web", "cmd": "y", "autostart": true, "dependsOn": ["db"] }] }';
  const { run, text } = desk(t, { "procman.json": file });
  refused(
    await run("remove", "db"),
    "configuration-invalid",
    /^Cannot remove "db": procman\.json would become invalid, so it stays unchanged\n\nprocman\.json:1:.*dependsOn/,
  );
  assert.equal(text("procman.json"), file);
  await run("remove", "web");
  assert.equal((await run("remove", "db")).error, undefined);
});

test("remove can repair an invalid file", async (t) => {
  const { run, folder } = desk(t, { "procman.jsonc": FILE.replace("0 3 * * *", "99 * * * *") });
  assert.equal((await run("remove", "report")).error, undefined);
  assert.equal(load(undefined, folder).processes.length, 1);
});

test("validate: the count, the next cron runs on stdout, warnings on stderr", async (t) => {
  const { run } = desk(t, { "procman.jsonc": FILE.replace('"autostart": true', '"cluster": { "instances": 3 }') });
  const { stdout, stderr, error } = await run("validate");
  assert.equal(error, undefined);
  assert.match(
    stdout,
    /^procman\.jsonc: valid, 2 processes\n {2}report: next run \d{4}-\d\d-\d\dT03:00:00(?:Z|[+-]\d\d:\d\d) \(0 3 \* \* \*\)\n$/,
  );
  assert.match(stderr, /^procman\.jsonc: 1 warning\n\nprocman\.jsonc:4:5 processes\[0\]/);
});

test("validate: missing files that it names are warnings", async (t) => {
  const web = { id: "web", cmd: "true", autostart: true, envFile: ".env" };
  const plugins = [{ url: "./gone.mjs" }];
  const { run } = desk(t, { "procman.json": JSON.stringify({ processes: [web], plugins }), ".env": "A: 1\n" });
  const { stdout, stderr, error } = await run("validate");
  assert.equal(error, undefined);
  assert.equal(stdout, "procman.json: valid, 1 process\n");
  assert.match(
    stderr,
    /^procman\.json: 2 warnings\n\nprocman\.json:1:\d+ processes\[0\]\.envFile\n.*\n.*\n {2}Found "\.env": \.env:1 is not NAME=value/,
  );
  assert.match(
    stderr,
    /procman\.json:1:\d+ plugins\[0\]\.url\n.*\n.*\n {2}Found "\.\/gone\.mjs", but there is no file gone\.mjs;/,
  );
});

test("validate: all problems, exit code 78", async (t) => {
  const { run } = desk(t, { "bad.json": '{ "processes": [{ "id": "A" }] }' });
  const outcome = await run("validate", "--config", "bad.json");
  refused(outcome, "configuration-invalid", /2 problems/);
  assert.equal((outcome.error as ProcmanError).exitCode, 78);
  assert.equal(outcome.stdout, "");
});

test("validate --json: each schedule with what it does", async (t) => {
  const job = { id: "job", cmd: "x", cron: "0 3 * * *", terminate: "0 4 * * *" };
  const web = {
    id: "web",
    cmd: "x",
    cluster: { instances: 1, startPort: 3_001, commonPort: 3_000 },
    scale: { max: 4, schedules: [{ cron: "0 8 * * *", min: 2 }] },
  };
  const { run } = desk(t, { "procman.json": JSON.stringify({ processes: [job, web] }) });
  const { next } = JSON.parse((await run("validate", "--json")).stdout) as { readonly next: readonly object[] };
  assert.deepEqual(
    next.map((each) => ({ ...each, next: "later" })),
    [
      { process: "job", action: "start", pattern: "0 3 * * *", next: "later" },
      { process: "job", action: "terminate", pattern: "0 4 * * *", next: "later" },
      { process: "web", action: "scale", pattern: "0 8 * * *", next: "later" },
    ],
  );
});

test("validate --json: one document, valid or not", async (t) => {
  const { run, folder } = desk(t, { "procman.jsonc": FILE, "bad.json": "{}" });
  const good = JSON.parse((await run("validate", "--json")).stdout);
  assert.deepEqual(
    { ...good, next: good.next.length },
    { file: join(folder, "procman.jsonc"), valid: true, processes: 2, next: 1, problems: [], warnings: [] },
  );
  const bad = await run("validate", "--json", "--config", "bad.json");
  refused(bad, "configuration-invalid", /./);
  assert.deepEqual(JSON.parse(bad.stdout).problems, [
    {
      file: "bad.json",
      line: 1,
      column: 1,
      path: "processes",
      message: 'Missing key "processes": a list of processes.',
    },
  ]);
});

test("schema prints schema.json of the package", async (t) => {
  const { stdout } = await desk(t).run("schema");
  assert.equal(JSON.parse(stdout).title, "procman configuration");
});

/** Plays a user who types these lines, each after its question, and then ends the input. */
function terminal(typed: string) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const lines = typed.split("|");
  output.on("data", (chunk: Buffer) => {
    if (!/: $/.test(String(chunk))) return;
    const line = lines.shift();
    if (line === undefined) input.end();
    else input.write(`${line}\n`);
  });
  return { input, output };
}

test("questions: defaults, refused answers are asked again, the end of the input", async () => {
  const questions = [
    { text: "Name", default: "shop" },
    { text: "Id", refuse: (answer: string) => (answer === "Bad" ? "No capitals" : undefined) },
  ];
  assert.deepEqual(await ask(questions, terminal("|Bad| |web")), ["shop", "web"]);
  assert.equal(await ask(questions, terminal("x")), undefined);
});

test("questions: Ctrl-C aborts with exit code 130", async () => {
  const [input, output] = [new PassThrough(), Object.assign(new PassThrough(), { isTTY: true, columns: 80 })];
  let asked = false;
  output.on("data", (chunk: Buffer) => {
    if (asked || !String(chunk).includes("Name: ")) return;
    asked = true;
    input.write("\u0003");
  });
  await assert.rejects(
    ask([{ text: "Name" }], { input, output }),
    (error) => error instanceof ProcmanError && error.exitCode === 130 && /nothing is written/.test(error.message),
  );
});
