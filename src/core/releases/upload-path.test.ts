/** Only what an upload has made is removed after a deployment. */
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checkUpload, isUpload, removeUpload } from "./upload-path.ts";

test("an upload is in a place for uploads, and nowhere else", () => {
  for (const path of ["/home/a/.local/state/procman/uploads/r1/folder", "/procman/uploads/a-1.2/archive"])
    assert.equal(isUpload(path), true, path);
  for (const path of [
    "/home/a/build",
    "procman/uploads/r1/folder",
    "/x/procman/uploads/folder",
    "/x/procman/uploads/r1/r2/folder",
    "/x/procman/uploads/../folder",
    "/x/../procman/uploads/r1/folder",
    "/x/procman/uploads/r1/folder/..",
    "/x/notprocman/uploads/r1/folder",
  ]) {
    assert.equal(isUpload(path), false, path);
    assert.throws(() => checkUpload({ folder: path, uploaded: "build" }), /is none/);
    checkUpload({ folder: path });
  }
  assert.throws(() => checkUpload({ ref: "v1", repository: "/x", uploaded: "build" }), /is none/);
});

test("an order without an upload removes nothing; with one, the folder of the upload", async (context) => {
  const place = mkdtempSync(join(tmpdir(), "procman-uploads-"));
  context.after(() => rmSync(place, { recursive: true, force: true }));
  const folder = join(place, "procman/uploads/r1/folder");
  mkdirSync(folder, { recursive: true });
  await removeUpload({ folder });
  await removeUpload({ folder: place, uploaded: "build" });
  assert.equal(existsSync(folder), true);
  await removeUpload({ folder, uploaded: "build" });
  assert.equal(existsSync(join(place, "procman/uploads/r1")), false);
  assert.equal(existsSync(join(place, "procman/uploads")), true);
});
