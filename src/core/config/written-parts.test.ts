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

test("secrets in command lines, hooks, checks and comments are hidden, however they are written", () => {
  const lines = [
    ...[
      "app --password=s3cret x",
      "app --password s3cret",
      "app --password 's3cret s3cret' -v",
      'app --secret="s3cret \\" s3cret" x',
      "app -token=s3cret",
    ],
    ...[
      "app --db-pass s3cret",
      "app --api-key s3cret,s3cret",
      "java -Dssl.keyPassword=s3cret",
      "PGPASSWORD=s3cret psql",
      "a && TOKEN=s3cret b",
    ],
    ...[
      "JWT=s3cret x",
      "GITHUB_PAT=s3cret x",
      "BEARER=s3cret x",
      "REQUEST_SIGNATURE=s3cret x",
      "mysql -u root -ps3cret db",
      "mysql -psEcret db",
    ],
    ...[
      "app -ps3cret",
      "sshpass -p s3cret ssh h",
      "curl -u me:s3cret h",
      "curl -ume:s3cret h",
      "curl --user 'me:s3cret' h",
      "curl --proxy-user=me:s3cret h",
    ],
    ...[
      "curl -H 'Authorization: Bearer s3cret' h",
      "curl -H 'Authorization: Basic s3cret==' h",
      'curl -H "X-Api-Key: s3cret s3cret" h',
    ],
    ...[
      "curl https://h/?a=1&access_token=s3cret",
      "psql postgres://me:s3cret@h/db",
      "curl https://s3cret@h",
      "echo Bearer s3cret",
    ],
    ...['app \'{"token":"s3cret"}\'', "git clone https://h/ ghp_s3cret", "x eyJs3cret.s3cret.s3cret"],
  ];
  for (const line of lines) {
    const [inLine, inHook, inComment] = [
      JSON.stringify({ cmd: line }),
      JSON.stringify({ hooks: { beforeStart: { cmd: line } }, health: { exec: line } }),
      `{ "id": "a" // ${line}\n}`,
    ].map(withoutSecrets);
    for (const shown of [inLine, inHook, inComment]) assert.doesNotMatch(shown ?? "", /s3cret|sEcret/, line);
  }
  const words = ["--token", "s3cret s3cret", "--password=s3cret&s3cret", "-H", "Cookie: s3cret", "-u", "me:s3cret"];
  assert.equal(
    withoutSecrets(JSON.stringify({ worker: ["a.js", ...words, "last"] })),
    '{"worker":["a.js","--token","***","--password=***","-H","Cookie: ***","-u","me:***","last"]}',
  );
});

test("what is not a secret stays in a command line", () => {
  const lines = [
    ...[
      'app --token $TOKEN --password "${PW}"',
      "app --password-file /run/pw",
      "find . -path x -print",
      "docker run -u 1000:1000 -p80:80/tcp x",
    ],
    ...[
      "node --inspect=0.0.0.0:9229 a.js",
      "app --no-token --port 3",
      "curl http://auth:8080/x",
      "tar -pxzf a.tgz",
      "ssh -p 22 h",
      "node -p x",
    ],
  ];
  for (const line of lines) assert.equal(withoutSecrets(JSON.stringify({ cmd: line })), JSON.stringify({ cmd: line }));
});
