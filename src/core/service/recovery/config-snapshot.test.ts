import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { diff } from "../../config/diff.ts";
import { normalise } from "../../config/normalise.ts";
import type { Config } from "../../config/spec.ts";
import { readConfigSnapshot, writeConfigSnapshot } from "./config-snapshot.ts";

const config: Config = {
  ...normalise(
    {
      name: "shop",
      api: { port: 8080 },
      processes: [
        {
          id: "web",
          cmd: "x",
          autostart: true,
          env: { restartLimit: "null" },
          logger: { stdout: "web.log" },
          pidFile: "web.pid",
        },
        {
          id: "limited",
          worker: ["a.js", "b"],
          cron: "* * * * *",
          terminate: "0 0 * * *",
          restartLimit: 3,
          restartDelayMs: 5,
        },
        {
          id: "many",
          cmd: "y",
          cluster: { instances: 2, startPort: 7000 },
          watch: ["src"],
          path: ["bin"],
          ready: { port: "{port}" },
          health: { exec: "true" },
        },
        {
          id: "bound",
          cmd: "b",
          memoryLimit: "1GB",
          memoryMax: "2GB",
          ulimits: { nofile: 9, core: "unlimited" },
          user: 65_534,
          group: 3,
          nice: -1,
          umask: "027",
        },
        ...[{ http: "http://localhost/up" }, { log: "^up$" }, { exec: "true" }, { fd: 3, timeout: 5 }].map(
          (ready, index) => ({
            id: `ready-${index}`,
            cmd: "z",
            ready,
          }),
        ),
      ],
    },
    { folder: "/srv", parallelism: 2, now: new Date(0), stripsTypes: false },
  ),
  file: "/srv/procman.json",
  warnings: [],
};

test("a configuration is read as it was written, also with an infinite restart limit", () => {
  const [web, ...others] = config.processes;
  assert.ok(web !== undefined && web.policy.restartLimit === Number.POSITIVE_INFINITY);
  const snapshot = readConfigSnapshot(
    writeConfigSnapshot({ config: { ...config, processes: others }, removing: [web] }),
  );
  assert.deepEqual(snapshot, { config: { ...config, processes: others }, removing: [web] });
  assert.deepEqual(diff(snapshot?.config.processes ?? [], others), { added: [], removed: [], changed: [] });
});

test("a note that is missing, torn, older or unknown is ignored", () => {
  const note = writeConfigSnapshot({ config, removing: [] });
  const strange = [
    undefined,
    "",
    note.slice(0, -1),
    "null",
    "[]",
    "{}",
    JSON.stringify(config.processes),
    note.replace("restartResetMs", "x"),
    note.replace("* * * * *", "never"),
    note.replace("^up$", "("),
  ];
  for (const each of strange) assert.equal(readConfigSnapshot(each), undefined, each);
  assert.ok(
    readConfigSnapshot(note.replace('"cwd"', '"newField":1,"cwd"')) !== undefined,
    "members of a newer version are none of our business",
  );
  fc.assert(fc.property(fc.json(), (text) => readConfigSnapshot(text) === undefined));
});
