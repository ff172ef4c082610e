import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { keepSecret, newSecret, secretFile, secretIn, storedSecret } from "./secret.ts";

function folderOf(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-secret-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("the first secret stays when another one is to be kept", (context) => {
  const folder = folderOf(context);
  const first = secretIn(folder);
  assert.deepEqual(Buffer.from(keepSecret(folder, newSecret())), Buffer.from(first));
  assert.deepEqual(Buffer.from(secretIn(folder)), Buffer.from(first));
  assert.equal(statSync(secretFile(folder)).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder), ["secret"]);
});

test("a file of another length is not a secret, and is replaced", (context) => {
  const folder = folderOf(context);
  for (const content of ["", "short"]) {
    writeFileSync(secretFile(folder), content);
    assert.equal(storedSecret(folder), undefined);
    const secret = secretIn(folder);
    assert.equal(secret.length, 32);
    assert.deepEqual(readFileSync(secretFile(folder)), Buffer.from(secret));
  }
  assert.deepEqual(readdirSync(folder), ["secret"]);
});
