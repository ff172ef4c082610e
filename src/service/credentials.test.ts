/** Secret and revocations change under a running service: specification 5.4, issue 4 "Build" 2. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { load } from "../config/load.ts";
import { replaceSecret } from "../os/secret.ts";
import { Credentials } from "./credentials.ts";

function rig(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "procman-credentials-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const write = (revoked: unknown): void =>
    writeFileSync(
      join(folder, "procman.json"),
      JSON.stringify({ api: { revoked }, processes: [{ id: "web", cmd: "x", autostart: true }] }),
    );
  write(["first"]);
  const config = { ...load(join(folder, "procman.json"), folder), stateDir: join(folder, "state") };
  mkdirSync(config.stateDir);
  let changes = 0;
  const credentials = new Credentials(config, () => changes++);
  /** How many changes were told by a look. */
  const look = (): number => {
    const before = changes;
    credentials.look();
    return changes - before;
  };
  return { folder, config, write, credentials, look };
}

test("who is revoked in the file counts at the next look; a file that is not valid, or not there, changes nothing", (context) => {
  const { folder, write, credentials, look } = rig(context);
  assert.deepEqual([credentials.isRevoked("first"), credentials.isRevoked("second")], [true, false]);
  look();
  assert.equal(look(), 0, "nothing has changed");
  write(["second", "third"]);
  assert.equal(look(), 1);
  assert.deepEqual([credentials.isRevoked("first"), credentials.isRevoked("second")], [false, true]);
  write("everybody");
  assert.equal(look(), 0);
  writeFileSync(join(folder, "procman.json"), "{");
  assert.equal(look(), 0);
  rmSync(join(folder, "procman.json"));
  assert.equal(look(), 0);
  assert.equal(credentials.isRevoked("second"), true);
  write([]);
  assert.equal(look(), 1);
  assert.equal(credentials.isRevoked("second"), false);
});

test("a secret that is replaced counts at the next look; one that is gone stays in use, and is written again", (context) => {
  const { config, credentials, look } = rig(context);
  const first = credentials.secret();
  assert.equal(first.length, 32);
  look();
  const second = replaceSecret(config.stateDir);
  assert.equal(look(), 1);
  assert.notEqual(credentials.secret(), first);
  assert.deepEqual(Buffer.from(credentials.secret()), Buffer.from(second));
  rmSync(config.stateDir, { recursive: true });
  assert.equal(look(), 0);
  mkdirSync(config.stateDir);
  credentials.renew();
  assert.equal(look(), 0, "it is the same");
  assert.deepEqual(Buffer.from(credentials.secret()), Buffer.from(second));
});
