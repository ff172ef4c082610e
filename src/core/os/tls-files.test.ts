/** Certificate and key from files. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { certificateIn } from "../../../test/support/certificate.ts";
import { expiryOf, readTlsFiles } from "./tls-files.ts";

function folderOf(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-tls-"));
  context.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test("a certificate with its key is read; a certificate in the future, or past its end, says so", (context) => {
  const files = certificateIn(folderOf(context), { days: 2 });
  const identity = readTlsFiles(files);
  const days = (identity.validUntil - Date.now()) / 86_400_000;
  assert.ok(days > 1.9 && days < 2.1, `valid for ${days} days`);
  assert.equal(expiryOf(identity), undefined);
  const later = expiryOf(identity, identity.validUntil + 1);
  assert.match(later ?? "", /^its certificate expired on \d{4}-\d\d-\d\d, so clients refuse it$/);
});

test("each wrong file is named, with what is wrong", (context) => {
  const folder = folderOf(context);
  const { certificate, key } = certificateIn(folder, {});
  const other = certificateIn(folder, { name: "other" });
  const text = join(folder, "text.pem");
  writeFileSync(text, "no certificate\n");
  const message = (files: { certificate: string; key: string }): string => {
    try {
      readTlsFiles(files);
      return "accepted";
    } catch (error) {
      return (error as Error).message;
    }
  };
  assert.equal(message({ certificate, key: other.key }), `${other.key} is not the key of ${certificate}`);
  assert.equal(message({ certificate: text, key }), `${text} is not a certificate in PEM`);
  assert.equal(message({ certificate, key: text }), `${text} is not a private key in PEM without a passphrase`);
  assert.equal(
    message({ certificate: join(folder, "none"), key }),
    `${join(folder, "none")} can't be read: there is no such file`,
  );
  assert.equal(message({ certificate, key: folder }), `${folder} can't be read: it is a folder`);
});
