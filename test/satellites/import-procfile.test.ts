/** A Procfile with its `.env` under the foreman of Debian and, imported, under procman: docs/guide/migrate.md. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { procman } from "../support/cli.ts";
import { folderOfFiles } from "../support/import-rig.ts";
import { comparable, debianForeman, PeerRig, WRITE_DOWN } from "../support/peer-rig.ts";
import { skip } from "../support/skip.ts";

/** What stands behind the name of the program. */
const PROGRAMS: Readonly<Record<string, string>> = {
  plain: "x",
  words: `"two words" 'a b' a\\ b`,
  port: "--port $PORT",
  braces: "${PORT}/${GREETING}x",
  fallback: '${UNSET:-none} "${GREETING:-none}"',
  options: "--name=$GREETING -p=$PORT",
  quoted: '$QUOTED "$QUOTED"',
  unset: 'a$UNSET"b"',
  hash: '"$HASH" a#b',
  tail: "x # a comment of the shell",
  equals: '"$EQUALS"',
  lines: '"$LINES_OF_TEXT"',
  single_quoted: '"$SINGLE"',
  empty: '"$EMPTY" end',
  substitution: "$(echo a b) `echo c`",
  arithmetic: "$((PORT + 1))",
  home: '"$HOME" ~',
  outer: '"$OUTER"',
  overridden: '"$BOTH"',
  glob: "sub/*",
  and: "x && true",
  or: "x || true",
  percent: "%d 100%",
  "with-dash": "x",
  UPPER_case: "x",
  number2: "x",
  assigned: '"$ASSIGNED"',
};
const BEFORE: Readonly<Record<string, string>> = { assigned: "ASSIGNED=own " };
const VARIABLES = `PORT=5600
# a comment
GREETING=hello
QUOTED="two words"
SINGLE='c  d'
HASH=p#ss
EQUALS=a=b=c
LINES_OF_TEXT="one\\ntwo"
EMPTY=
BOTH=file
`;
const OUTER = { OUTER: "out er", BOTH: "shell" };
const COMPARED = ["PORT", "GREETING", "QUOTED", "SINGLE", "HASH", "EQUALS", "LINES_OF_TEXT", "EMPTY", "BOTH", "OUTER"];

test("words, variables, ports and folder are those of foreman", async (context) => {
  const foreman = debianForeman();
  if (foreman === undefined) return skip(context, "the packages of foreman can't be downloaded");
  const lines = Object.entries(PROGRAMS).map(
    ([name, args]) => `${name}: ${BEFORE[name] ?? ""}node ${WRITE_DOWN} ${name.toLowerCase()} ${args}\n`,
  );
  const rig: PeerRig = new PeerRig(
    folderOfFiles(context, { Procfile: lines.join(""), ".env": VARIABLES, "sub/a": "", "sub/b": "" }, () => rig.end()),
  );
  const counts = Object.fromEntries(Object.keys(PROGRAMS).map((name) => [name.toLowerCase(), 1]));
  const [program = "", ...args] = [...foreman.command, "start"];
  const env = { ...rig.environment("foreman"), ...foreman.env, ...OUTER };
  const peer = spawn(program, args, { cwd: rig.folder, env, stdio: "ignore", detached: true });
  try {
    await rig.wait("foreman", counts);
  } finally {
    // As Ctrl-C does: at SIGTERM foreman asks only the shells.
    if (peer.pid !== undefined) process.kill(-peer.pid, "SIGINT");
    await once(peer, "exit");
  }
  const { code, err } = await procman(rig.folder, ["import", "Procfile"]);
  assert.equal(code, 0, err);
  Object.assign(process.env, OUTER);
  try {
    await rig.underProcman(counts, counts);
  } finally {
    for (const name of Object.keys(OUTER)) delete process.env[name];
  }
  const starts = (manager: string, name: string): readonly string[] =>
    comparable(
      rig.seen(manager, name).filter(({ args: given }) => given !== undefined),
      COMPARED,
    );
  const all = (manager: string): object =>
    Object.fromEntries(Object.keys(counts).map((name) => [name, starts(manager, name)]));
  assert.deepEqual(all("procman"), all("foreman"));
});
