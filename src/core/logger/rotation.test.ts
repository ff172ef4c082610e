import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { collect, folder, lines, root, setUp } from "../../../test/support/file-rig.ts";
import { smallDisk } from "../../../test/support/skip.ts";

describe("rotation", () => {
  it("rotates before the size is exceeded, and loses, tears or mixes no line", async () => {
    const path = join(folder("rotate"), "a.log");
    const { file, compressor, problems } = setUp(path);
    file.rotation = { sizeBytes: 50_000, ageMs: 0, totalBytes: 1e9, gzip: true };
    for (let at = 0; at < 20_000; at += 500) {
      file.write(Buffer.from(lines(at, at + 500)));
      assert.ok(statSync(path).size <= 50_000);
      await new Promise(setImmediate);
    }
    await compressor.stop(10_000);
    const { text, rotated } = collect(path);
    assert.equal(text, lines(0, 20_000));
    assert.ok(rotated.length > 20);
    assert.ok(
      rotated.every((name) => /^a\.log\.\d{8}T\d{9}Z\.gz$/.test(name)),
      rotated.join(),
    );
    assert.deepEqual(problems, []);
    file.end();
  });

  it("creates files with mode 0640; a compressed copy has the mode of its log file", async () => {
    const path = join(folder("mode"), "a.log");
    const { file, compressor } = setUp(path);
    file.rotation = { sizeBytes: 10, ageMs: 0, totalBytes: 1e9, gzip: true };
    const modeOf = (name: string): number => statSync(join(dirname(path), name)).mode & 0o777;
    file.write(Buffer.from("first\n"));
    assert.equal(modeOf("a.log"), 0o640 & ~process.umask());
    chmodSync(path, 0o600);
    file.write(Buffer.from("second\n"));
    await compressor.stop(10_000);
    assert.deepEqual(collect(path).rotated.map(modeOf), [0o600]);
    file.end();
  });

  it("deletes the oldest rotated files when they take too much space", () => {
    const path = join(folder("total"), "a.log");
    const { file } = setUp(path);
    file.rotation = { sizeBytes: 10_000, ageMs: 0, totalBytes: 35_000, gzip: false };
    file.write(Buffer.from(lines(0, 5000)));
    const { text, rotated } = collect(path);
    assert.equal(rotated.length, 3);
    assert.ok(lines(0, 5000).endsWith(text));
    file.end();
  });

  it("gives a line bigger than a whole file its own file", () => {
    const path = join(folder("big"), "a.log");
    const { file } = setUp(path);
    file.rotation = { sizeBytes: 10, ageMs: 0, totalBytes: 1e9, gzip: false };
    file.write(Buffer.from(`a\n${"b".repeat(30)}\nc\n`));
    assert.equal(collect(path).text, `a\n${"b".repeat(30)}\nc\n`);
    assert.equal(readFileSync(path, "utf8"), "c\n");
    file.end();
  });

  it("rotates by age, counted from the creation of the file, also after a restart", async () => {
    const path = join(folder("age"), "a.log");
    writeFileSync(path, "old\n");
    while (Date.now() - statSync(path).birthtimeMs <= 30) await new Promise(setImmediate);
    const { file } = setUp(path);
    file.rotation = { sizeBytes: 0, ageMs: 30, totalBytes: 1e9, gzip: false };
    file.write(Buffer.from("new\n"));
    assert.equal(readFileSync(path, "utf8"), "new\n");
    assert.equal(collect(path).text, "old\nnew\n");
    file.end();
  });

  it("cleans up after a crash: removes partly compressed files, and compresses plain ones", async () => {
    const path = join(folder("leftover"), "a.log");
    const left = `${path}.20260101T000000000Z`;
    writeFileSync(left, "left\n");
    const { pid } = spawnSync("true");
    writeFileSync(`${left}.gz.${pid}-0a1b2c3d.tmp`, "rubbish");
    writeFileSync(`${path}.keep`, "not ours");
    const { file, compressor } = setUp(path);
    file.rotation = { sizeBytes: 1000, ageMs: 0, totalBytes: 1e9, gzip: true };
    file.prepare();
    await compressor.stop(10_000);
    assert.deepEqual(readdirSync(join(root, "leftover")).sort(), [
      "a.log",
      "a.log.20260101T000000000Z.gz",
      "a.log.keep",
    ]);
    assert.equal(gunzipSync(readFileSync(`${left}.gz`)).toString(), "left\n");
    file.end();
  });

  it("removes a rotated file at once that was compressed before a kill, unless the copy isn't complete", async () => {
    const path = join(folder("compressed"), "a.log");
    const [whole, longer] = [`${path}.20260101T000000000Z`, `${path}.20260102T000000000Z`];
    for (const each of [whole, longer]) {
      writeFileSync(each, "line\n");
      writeFileSync(`${each}.gz`, gzipSync("line\n"));
    }
    appendFileSync(longer, "late\n");
    const { file, compressor } = setUp(path);
    file.rotation = { sizeBytes: 1000, ageMs: 0, totalBytes: 1e9, gzip: true };
    file.prepare();
    assert.deepEqual([existsSync(whole), existsSync(longer)], [false, true]);
    await compressor.stop(10_000);
    assert.equal(gunzipSync(readFileSync(`${longer}.gz`)).toString(), "line\nlate\n");
    assert.equal(existsSync(longer), false);
    file.end();
  });

  it("keeps the incomplete copy of another logger that runs, and removes that of one that has ended", async () => {
    const path = join(folder("unfinished"), "a.log");
    const ended = spawnSync("true").pid;
    for (const pid of [process.ppid, ended])
      writeFileSync(`${path}.20260101T000000000Z.gz.${pid}-12ab34cd.tmp`, "half");
    const { file, compressor } = setUp(path);
    file.rotation = { sizeBytes: 1000, ageMs: 0, totalBytes: 1e9, gzip: true };
    file.prepare();
    await compressor.stop(10_000);
    const left = readdirSync(dirname(path)).filter((name) => name.endsWith(".tmp"));
    assert.deepEqual(left, [`a.log.20260101T000000000Z.gz.${process.ppid}-12ab34cd.tmp`]);
    file.end();
  });

  it("removes the oldest file only when rotated files exceed the limit without incomplete copies", () => {
    const path = join(folder("counted"), "a.log");
    const [older, newer] = [`${path}.20260101T000000000Z`, `${path}.20260102T000000000Z`];
    for (const each of [older, newer, `${older}.gz.${process.ppid}-12ab34cd.tmp`]) writeFileSync(each, "x".repeat(500));
    const { file } = setUp(path);
    file.rotation = { sizeBytes: 1000, ageMs: 0, totalBytes: 1000, gzip: false };
    file.prepare();
    assert.ok(existsSync(older));
    file.rotation = { sizeBytes: 1000, ageMs: 0, totalBytes: 999, gzip: false };
    file.reopen();
    assert.deepEqual([existsSync(older), existsSync(newer)], [false, true]);
    file.end();
  });

  it("compresses what another logger writes to a file for a moment after its rotation", async () => {
    const path = join(folder("late"), "a.log");
    const rotated = `${path}.20260101T000000000Z`;
    writeFileSync(rotated, "early\n");
    const { file, compressor } = setUp(path);
    file.rotation = { sizeBytes: 1000, ageMs: 0, totalBytes: 1e9, gzip: true };
    file.prepare();
    // A logger that has the file open looks at its path every 100 ms.
    await sleep(100);
    appendFileSync(rotated, "late\n");
    await compressor.stop(10_000);
    assert.equal(gunzipSync(readFileSync(`${rotated}.gz`)).toString(), "early\nlate\n");
    file.end();
  });

  it("rotates the target of a link, not the link", () => {
    const dir = folder("link");
    mkdirSync(join(dir, "real"));
    const real = join(dir, "real", "b.log");
    const path = join(dir, "a.log");
    writeFileSync(real, "");
    symlinkSync(real, path);
    const { file } = setUp(path);
    file.rotation = { sizeBytes: 10, ageMs: 0, totalBytes: 1e9, gzip: false };
    file.write(Buffer.from("12345678\nabcdefgh\n"));
    assert.equal(readFileSync(real, "utf8"), "abcdefgh\n");
    assert.equal(collect(real).text, "12345678\nabcdefgh\n");
    file.end();
  });

  it("keeps the plain file and reports it once when there is no room to compress", async (context) => {
    const disk = smallDisk(context, "size=256k");
    if (disk === undefined) return;
    const path = join(disk, "a.log");
    const { file, compressor, events, problems } = setUp(path);
    const rotation = { sizeBytes: 25_000, ageMs: 0, totalBytes: 1e9, gzip: false };
    const random = Array.from(
      { length: 1000 },
      (_, index) => `${index} ${Math.random().toString(36).repeat(3)}\n`,
    ).join("");
    file.rotation = rotation;
    file.write(Buffer.from(random));
    assert.throws(() => writeFileSync(join(disk, "filler"), Buffer.alloc(256 * 1024)), { code: "ENOSPC" });
    file.rotation = { ...rotation, gzip: true };
    file.reopen();
    await once(events, "problem");
    await compressor.stop(10_000);
    file.end();
    assert.deepEqual(
      problems.map(([name, code]) => [name, code]),
      [[`${path}.*`, "ENOSPC"]],
    );
    rmSync(join(disk, "filler"));
    assert.equal(collect(path).text, random);
  });
});
