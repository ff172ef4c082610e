/** Secret and revocations change under a running service. Spec 5.4. */
import assert from "node:assert/strict";
import fs, { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { load } from "../../config/load.ts";
import { replaceSecret, secretFile } from "../../os/secret.ts";
import { type CredentialEvents, Credentials } from "./credentials.ts";

function rig(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "procman-credentials-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const write = (revoked: unknown): void =>
    writeFileSync(
      join(folder, "procman.json"),
      JSON.stringify({
        api: { revoked },
        processes: [{ id: "web", cmd: "x", autostart: true }],
        profiles: { other: { api: { revoked: ["fourth"] } } },
      }),
    );
  write(["first"]);
  const config = { ...load(join(folder, "procman.json"), folder), stateDir: join(folder, "state") };
  mkdirSync(config.stateDir);
  let changes = 0;
  const unsaved: (string | undefined)[] = [];
  const active: { profile?: string } = {};
  const events: CredentialEvents = { onChanged: () => changes++, onUnsaved: (why) => unsaved.push(why) };
  const credentials = new Credentials(config, () => active.profile, events);
  /** How many changes a check has reported. */
  const look = (): number => {
    const before = changes;
    credentials.check();
    return changes - before;
  };
  return { folder, config, write, credentials, look, unsaved, active };
}

test("when another profile is active, its revoked consumers count", (context) => {
  const { credentials, look, active } = rig(context);
  look();
  active.profile = "other";
  assert.equal(look(), 1);
  assert.deepEqual([credentials.isRevoked("first"), credentials.isRevoked("fourth")], [false, true]);
  assert.equal(look(), 0);
  delete active.profile;
  assert.equal(look(), 1);
  assert.deepEqual([credentials.isRevoked("first"), credentials.isRevoked("fourth")], [true, false]);
});

test("a revocation in the file is in force at the next check; an invalid or missing file changes nothing", (context) => {
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

test("a replaced secret is in force at the next check; a removed one stays in use, and is written again", (context) => {
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
  credentials.restoreFile();
  assert.equal(look(), 0, "it is the same");
  assert.deepEqual(Buffer.from(credentials.secret()), Buffer.from(second));
});

test("a secret that can't be written is used anyway, logged once, and written as soon as possible", (context) => {
  const { config, credentials, look, unsaved } = rig(context);
  rmSync(config.stateDir, { recursive: true });
  look();
  const secret = credentials.secret();
  assert.equal(secret.length, 32);
  assert.deepEqual([look(), look(), credentials.secret()], [0, 0, secret]);
  assert.equal(unsaved.length, 1);
  assert.match(unsaved[0] ?? "", /ENOENT/);
  assert.equal(credentials.save(), false);
  mkdirSync(config.stateDir);
  assert.equal(credentials.save(), true);
  assert.deepEqual(readFileSync(secretFile(config.stateDir)), Buffer.from(secret));
  assert.deepEqual(readdirSync(config.stateDir), ["secret"]);
  assert.deepEqual([unsaved.length, unsaved[1]], [2, undefined]);
});

test("a secret that is replaced while files can't be opened is in force as soon as they can", (context) => {
  const { config, credentials, look, unsaved } = rig(context);
  credentials.secret();
  look();
  const second = replaceSecret(config.stateDir);
  const { readFileSync: read } = fs;
  const opened = context.mock.method(fs, "readFileSync", (path: string, ...more: unknown[]) => {
    if (path === secretFile(config.stateDir))
      throw Object.assign(new Error("EMFILE: too many open files"), { code: "EMFILE" });
    return read(path, ...(more as []));
  });
  syncBuiltinESMExports();
  assert.equal(look(), 0);
  opened.mock.restore();
  syncBuiltinESMExports();
  assert.match(unsaved[0] ?? "", /EMFILE/);
  assert.equal(look(), 1);
  assert.deepEqual(Buffer.from(credentials.secret()), Buffer.from(second));
});

test("a secret that another process could write first is used from the next check on", (context) => {
  const { config, credentials, look } = rig(context);
  rmSync(config.stateDir, { recursive: true });
  credentials.secret();
  assert.equal(look(), 1, "who is revoked is read once more");
  mkdirSync(config.stateDir);
  const other = replaceSecret(config.stateDir);
  assert.equal(look(), 1);
  assert.deepEqual(Buffer.from(credentials.secret()), Buffer.from(other));
});

test("a secret whose file was emptied by a power cut, or removed, stays in use and is written again", (context) => {
  const { config, credentials, look } = rig(context);
  const secret = credentials.secret();
  look();
  writeFileSync(secretFile(config.stateDir), "");
  assert.equal(look(), 0);
  assert.deepEqual(readFileSync(secretFile(config.stateDir)), Buffer.from(secret));
  rmSync(secretFile(config.stateDir));
  assert.equal(look(), 0);
  assert.deepEqual(readFileSync(secretFile(config.stateDir)), Buffer.from(secret));
  assert.deepEqual(readdirSync(config.stateDir), ["secret"]);
});
