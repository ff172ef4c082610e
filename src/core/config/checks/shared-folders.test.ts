import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { sharedFolderWarnings } from "./shared-folders.ts";

test("a folder in which the user of a process may write is reported once for each user, to root only", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-shared-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ["open", "closed"]) mkdirSync(join(folder, name));
  chmodSync(join(folder, "open"), 0o777);
  const web = {
    id: "web",
    user: 4_000_000,
    pidFile: "closed/web.pid",
    logger: { stdout: "open/{id}.log", stderr: "open/x.log" },
  };
  const processes = [
    web,
    { id: "mail", user: 0, pidFile: "open/m" },
    { id: "own", pidFile: "open/o" },
    { id: "b", user: 4_000_001 },
  ];
  const config = { logger: { stdout: "open/all.log" }, processes };
  const found = sharedFolderWarnings(config, folder, 0).map(({ path, message }) => `${path.join(".")} ${message}`);
  assert.equal(found.length, 2);
  assert.match(
    found[0] ?? "",
    /^processes\.0\.logger\.stdout Found "open\/\{id\}\.log"; the user 4000000 may write in \S+open: as root, procman follows links/,
  );
  assert.match(found[1] ?? "", /^logger\.stdout Found "open\/all\.log"; the user 4000001 may write/);
  assert.deepEqual(sharedFolderWarnings(config, folder, 1000), []);
});
