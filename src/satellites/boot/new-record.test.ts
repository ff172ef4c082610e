import assert from "node:assert/strict";
import { chownSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { refuseUntrusted } from "./new-record.ts";

const NOBODY = 65_534;
const AS_ROOT = { skip: process.getuid?.() !== 0 && "only root may change owners" };

test(
  "compiled code that a running procman replaces meanwhile doesn't stop an install; what others can change does",
  AS_ROOT,
  (context) => {
    const folder = mkdtempSync(join(tmpdir(), "procman-boot-"));
    context.after(() => rmSync(folder, { recursive: true, force: true }));
    const [own, foreign, gone] = ["own.cjs", "foreign.cjs", "gone.cjs"].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    for (const file of [own, foreign]) writeFileSync(file, "");
    chownSync(foreign, NOBODY, NOBODY);
    refuseUntrusted([own], [own, gone]);
    assert.throws(() => refuseUntrusted([own], [gone, foreign]), {
      code: "boot-refused",
      message: /root would run \S+foreign\.cjs at boot, but \S+foreign\.cjs belongs to /,
    });
    assert.throws(() => refuseUntrusted([own, gone], []), { code: "ENOENT" });
  },
);
