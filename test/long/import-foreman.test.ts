/** A Procfile with its `.env` under foreman and, imported, under procman: docs/guide/migrate.md. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { procman } from "../support/cli.ts";
import { folderOfFiles } from "../support/import-rig.ts";
import { comparable, foremanCommand, PeerRig, WRITE_DOWN } from "../support/peer-rig.ts";
import { skip } from "../support/skip.ts";

const PROCFILE = `web: node ${WRITE_DOWN} web "two words" $GREETING --port $PORT
work: node ${WRITE_DOWN} work 'a b' \${QUOTED}
`;
const VARIABLES = `GREETING=hello
QUOTED="two words"
PORT=5600
`;

test("words, variables, ports and folder are the same", async (context) => {
  const foreman = foremanCommand();
  if (foreman === undefined) return skip(context, "foreman can't be installed");
  const rig: PeerRig = new PeerRig(folderOfFiles(context, { Procfile: PROCFILE, ".env": VARIABLES }, () => rig.end()));
  const counts = { web: 1, work: 1 };
  const peer = spawn(foreman, ["start"], {
    cwd: rig.folder,
    env: rig.environment("foreman"),
    stdio: "ignore",
    detached: true,
  });
  try {
    await rig.wait("foreman", counts);
  } finally {
    // As Ctrl-C does: at SIGTERM it would leave them behind.
    if (peer.pid !== undefined) process.kill(-peer.pid, "SIGINT");
    await once(peer, "exit");
  }
  const { code, err } = await procman(rig.folder, ["import", "Procfile"]);
  assert.equal(code, 0, err);
  await rig.underProcman(counts, counts);
  const starts = (manager: string, name: string): readonly string[] =>
    comparable(
      rig.seen(manager, name).filter(({ args }) => args !== undefined),
      ["GREETING", "QUOTED", "PORT"],
    );
  for (const name of Object.keys(counts)) assert.deepEqual(starts("procman", name), starts("foreman", name), name);
});
