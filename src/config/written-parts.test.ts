/** A process as the configuration file has it: for `procman show --json` and the dashboard. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { withoutSecrets } from "./hidden-values.ts";
import { writtenParts } from "./written-parts.ts";

const MAIN = `{
  "include": ["more.json"],
  "processes": [
    // The shop; DB_PASSWORD=hunter2 in the old days.
    {
      "id": "web", // public
      "cmd": "node web.js",
      "env": { "API_KEY": "s3cret", "URL": "https://me:s3cret@host/", "PIN": 1234, "LEVEL": "2", "TOKEN": { "file": "token" } },
      /* "SESSION_SECRET": "s3cret", */
    }, // until 2027

    { "id": "db", "cmd": "db" }
  ]
}
`;

const WEB = `// The shop; DB_PASSWORD=*** in the old days.
{
  "id": "web", // public
  "cmd": "node web.js",
  "env": { "API_KEY": "***", "URL": "https://***@host/", "PIN": "***", "LEVEL": "2", "TOKEN": { "file": "token" } },
  /* "SESSION_SECRET": ***, */
}, // until 2027`;

test("a part is as it is written, with its comments and without secrets; included files have theirs", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-written-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const [main, more] = [join(folder, "procman.jsonc"), join(folder, "more.json")];
  writeFileSync(main, MAIN);
  writeFileSync(more, '\uFEFF{\r\n  "processes": [\r\n    {\r\n      "id": "mail"\r\n    }\r\n  ]\r\n}\r\n');
  assert.deepEqual(
    [...writtenParts(main)],
    [
      ["web", { file: main, line: 4, text: WEB }],
      ["db", { file: main, line: 12, text: '{ "id": "db", "cmd": "db" }' }],
      ["mail", { file: more, line: 3, text: '{\n  "id": "mail"\n}' }],
    ],
  );
  writeFileSync(more, "no JSON");
  assert.deepEqual([...writtenParts(main).keys()], ["web", "db"]);
  writeFileSync(main, '{ "processes": 7 }');
  assert.equal(writtenParts(main).size, 0);
  rmSync(main);
  assert.equal(writtenParts(main).size, 0);
});

test("all below a secret name is hidden, and no value of another name", () => {
  assert.equal(
    withoutSecrets('{ "tokens": ["a", { "b": "c" }], "path": "/bin", "password": null, "auth": { "env": "A" } }'),
    '{ "tokens": ["***", { "b": "***" }], "path": "/bin", "password": null, "auth": { "env": "A" } }',
  );
});
