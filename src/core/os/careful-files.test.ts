import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { readWhole, removeUnfinished, writeBeside, writeWhole } from "./careful-files.ts";

const root = mkdtempSync(join(tmpdir(), "procman-careful-"));
after(() => rmSync(root, { recursive: true, force: true }));

describe("reading a whole file", () => {
  it("gives its bytes, whatever its size is said to be", () => {
    writeFileSync(join(root, "a"), "x".repeat(200_000));
    assert.equal(readWhole(join(root, "a")).length, 200_000);
    assert.match(readWhole("/proc/self/status").toString(), /^Name:/);
  });

  it("refuses a FIFO, a device and a folder at once", () => {
    const fifo = join(root, "fifo");
    execFileSync("mkfifo", [fifo]);
    assert.throws(() => readWhole(fifo), { code: "EINVAL", message: "it is a FIFO, not a regular file" });
    assert.throws(() => readWhole("/dev/zero"), { code: "EINVAL", message: "it is a device, not a regular file" });
    assert.throws(() => readWhole(root), { code: "EISDIR" });
    assert.throws(() => readWhole(join(root, "none")), { code: "ENOENT" });
  });

  it("refuses a file above the limit, and takes one of just that size", () => {
    writeFileSync(join(root, "big"), "x".repeat(1025));
    assert.equal(readWhole(join(root, "big"), { maxBytes: 1025 }).length, 1025);
    assert.throws(() => readWhole(join(root, "big"), { maxBytes: 1024 }), {
      code: "EINVAL",
      message: /^it is bigger than/,
    });
  });
});

describe("writing a whole file", () => {
  it("replaces a link, not its target", () => {
    const [target, link] = [join(root, "target"), join(root, "link")];
    writeFileSync(target, "old");
    symlinkSync(target, link);
    writeWhole(link, "new", { mode: 0o644, isDurable: true });
    assert.deepEqual([readFileSync(target, "utf8"), readFileSync(link, "utf8")], ["old", "new"]);
    assert.equal(statSync(link).mode & 0o777, 0o644);
  });

  it("leaves nothing when the place is a folder", () => {
    assert.throws(() => writeWhole(root, "x"), { code: /EISDIR|ENOTEMPTY|EEXIST/ });
    assert.deepEqual(
      readdirSync(tmpdir()).filter((name) => name.startsWith(`${root.split("/").at(-1)}.`)),
      [],
    );
  });

  it("leaves of killed writers are removed, of living ones not", () => {
    const living = writeBeside(join(root, "b"), "x");
    const dead = join(root, "b.4194399-abc123.tmp");
    writeFileSync(dead, "");
    removeUnfinished(root);
    assert.deepEqual(
      readdirSync(root).filter((name) => name.startsWith("b.")),
      [living.slice(root.length + 1)],
    );
  });
});
