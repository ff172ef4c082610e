/** `procman show`: docs/reference/cli.md. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ProcmanError } from "../base/errors.ts";
import type { DefinitionRecord } from "../contract/definition-record.ts";
import type { RawProcess } from "./config-schema.ts";
import { definitionRecordOf, unappliedBy } from "./definitions.ts";
import { normalise } from "./normalise.ts";

function recordOf(process: RawProcess): DefinitionRecord {
  const context = { folder: "/srv", parallelism: 1, now: new Date(0), stripsTypes: false };
  const [spec] = normalise({ processes: [process] }, context).processes;
  assert.ok(spec);
  return definitionRecordOf(spec, new Map(), new Map());
}

test("standard input is open, a file, or not there", () => {
  const stdinOf = (stdin: RawProcess["stdin"]): string | undefined => recordOf({ id: "web", cmd: "cat", stdin }).stdin;
  assert.deepEqual([stdinOf(true), stdinOf({ file: "a.txt" }), stdinOf(false)], ["open", "/srv/a.txt", undefined]);
  assert.equal(recordOf({ id: "web", cmd: "cat", tty: true }).stdin, "terminal");
});

test("values that may be secret are hidden: by name, from files and variables, in addresses", () => {
  const hidden = [
    "API_KEY",
    "DB_PASSWORD",
    "SESSION_SECRET",
    "GITHUB_TOKEN",
    "key",
    "PGPASS",
    "sentryDsn",
    "AUTH",
    "PRIVATE_PEM",
  ];
  const env = {
    ...Object.fromEntries(hidden.map((name) => [name, "s3cret"])),
    FILE: { file: "f" },
    VAR: { env: "CI_V" },
  };
  const url = "postgres://me:s3cret@db/shop?x=${HOST:-a}";
  const record = recordOf({ id: "web", cmd: "x", envFile: ".env", env: { ...env, URL: url, LEVEL: 2 } });
  assert.doesNotMatch(JSON.stringify(record), /s3cret/);
  const shown = record.env.flatMap(({ name, value }) => (value === undefined ? [] : [`${name}=${value}`]));
  assert.deepEqual(shown, ["URL=postgres://***@db/shop?x=${HOST:-a}", "LEVEL=2"]);
  assert.deepEqual(
    record.env.flatMap(({ name, from }) => (from === undefined ? [] : [`${name} ${from}`])),
    ["FILE /srv/f", "VAR CI_V"],
  );
  assert.deepEqual(record.envFiles, ["/srv/.env"]);
});

test("secrets in command lines, hooks and values are hidden", () => {
  const hooks = { beforeStart: "migrate --password s3cret", afterStop: { cmd: "curl -u me:s3cret h" } };
  const env = {
    JWT: "s3cret",
    GITHUB_PAT: "s3cret",
    MYSQL_OPTIONS: "--password=s3cret -v",
    URL: "http://h/?token=s3cret&x=1",
  };
  for (const command of [
    { cmd: "app --token=s3cret" },
    { cmd: "app --token=s3cret | tee x" },
    { worker: ["a.js", "--token", "s3cret"] },
  ])
    assert.doesNotMatch(JSON.stringify(recordOf({ id: "web", hooks, env, ...command })), /s3cret/);
});

test("the command is what is executed, with or without a shell; ports, files and policies are named", () => {
  assert.deepEqual(
    [recordOf({ id: "a", cmd: "node a.js --port 80" }).argv, recordOf({ id: "a", cmd: "node x" }).shell],
    [["node", "a.js", "--port", "80"], false],
  );
  assert.ok(recordOf({ id: "a", cmd: "make | tee log" }).shell);
  const record = recordOf({
    ...{
      id: "web",
      cmd: "node x",
      autostart: true,
      restart: "always",
      restartLimit: 3,
      groups: "g",
      dependsOn: ["db"],
    },
    ...{
      logger: { stdout: "web.log" },
      pidFile: "{id}.pid",
      cluster: { instances: 1, startPort: 3001, commonPort: 3000 },
    },
  });
  assert.deepEqual([record.stdout, record.stderr, record.pidFile], ["/srv/web.log", "/srv/web.log", "/srv/web-1.pid"]);
  assert.deepEqual(
    [record.port, record.commonPort, record.groups, record.dependsOn],
    [3001, 3000, ["g"], ["db (ready)"]],
  );
  assert.ok(record.env.some(({ name, value, source }) => name === "PORT" && value === "3001" && source === "procman"));
  assert.match(record.restart, /^after every end, at once, .* at most 3 in a row/);
  assert.match(record.stop, /SIGTERM to the process group, SIGKILL 30 s later/);
  assert.equal(record.start, "with procman");
});

test("what of the file is not applied yet is told, also that the file is not valid", () => {
  const change = {
    process: "web",
    action: "restart",
    fields: ["cmd"],
    reason: "its cmd has changed",
    rolling: false,
  } as const;
  const plan = {
    configFile: "",
    settings: [],
    warnings: [],
    processes: [change, { ...change, process: "db", action: "none", fields: [] } as const],
  };
  assert.deepEqual([...unappliedBy(() => plan, ["web"])], [["web", "restart: its cmd has changed"]]);
  const invalid = (): never => {
    throw new ProcmanError("configuration-invalid", "all problems");
  };
  assert.match(unappliedBy(invalid, ["web"]).get("web") ?? "", /not valid/);
});
