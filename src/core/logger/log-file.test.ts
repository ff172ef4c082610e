import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import {
  createReadStream,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { folder, lines, root, setUp } from "../../../test/support/file-rig.ts";
import { smallDisk } from "../../../test/support/skip.ts";
import { emptyFile } from "./appender.ts";

describe("log file", () => {
  it("creates file and folder without access for others", () => {
    const path = join(root, "new", "deep", "a.log");
    const { file } = setUp(path);
    file.write(Buffer.from("one\n"));
    assert.equal(readFileSync(path, "utf8"), "one\n");
    assert.equal(statSync(path).mode & 0o007, 0);
    assert.equal(statSync(join(root, "new")).mode & 0o007, 0);
    file.end();
  });

  it("is emptied while it is open; later lines are in it, and rotated files stay", () => {
    const path = join(folder("emptied"), "a.log");
    const { file } = setUp(path);
    file.rotation = { sizeBytes: 12, ageMs: 0, totalBytes: 1_000, gzip: false };
    for (const text of ["first\n", "second\n"]) file.write(Buffer.from(text));
    assert.deepEqual([file.empty(), readFileSync(path, "utf8")], [true, ""]);
    file.write(Buffer.from("new\n"));
    file.write(Buffer.from("longer\n"));
    assert.equal(readFileSync(path, "utf8"), "new\nlonger\n", "its size counts from the beginning again");
    assert.equal(readdirSync(join(root, "emptied")).length, 2);
    file.end();
  });

  it("is not created, nor is anything but a log file emptied", () => {
    const path = join(folder("none"), "a.log");
    const fifo = join(root, "none", "fifo");
    execFileSync("mkfifo", [fifo]);
    for (const other of [path, fifo, join(path, "b.log"), "/dev/stdout"]) assert.equal(emptyFile(other), false, other);
    assert.equal(existsSync(path), false);
    assert.throws(() => emptyFile(join(root, "none")), /EISDIR/);
  });

  it("starts a new line after a torn one", () => {
    const path = join(folder("torn"), "a.log");
    writeFileSync(path, "half a li");
    const { file } = setUp(path);
    file.write(Buffer.from("whole\n"));
    assert.equal(readFileSync(path, "utf8"), "half a li\nwhole\n");
    file.end();
  });

  it("marks each killed logger once, however many streams report it", () => {
    const path = join(folder("marked"), "a.log");
    const mark = "[procman: the logger was restarted here; up to 64 KiB of output may be missing]\n";
    const { file } = setUp(path);
    for (const crashId of ["first", "first", "second"]) {
      file.markRestart(crashId);
      file.write(Buffer.from("line\n"));
    }
    assert.equal(readFileSync(path, "utf8"), `${mark}line\nline\n${mark}line\n`);
    file.end();
  });

  it("follows a deleted folder and an external rename within 100 ms", async () => {
    const path = join(folder("gone"), "a.log");
    const { file, problems } = setUp(path);
    const writeUntil = async (isThere: () => boolean): Promise<void> => {
      for (const limit = Date.now() + 5000; !isThere(); await new Promise(setImmediate)) {
        assert.ok(Date.now() < limit);
        file.write(Buffer.from("line\n"));
      }
    };
    file.write(Buffer.from("line\n"));
    rmSync(join(root, "gone"), { recursive: true });
    await writeUntil(() => existsSync(path));
    renameSync(path, `${path}.1`);
    await writeUntil(() => existsSync(path));
    renameSync(path, `${path}.2`);
    file.reopen();
    file.write(Buffer.from("after\n"));
    assert.equal(readFileSync(path, "utf8"), "after\n");
    assert.deepEqual(problems, []);
    file.end();
  });

  it("reports once that it can't write, waits, and continues when it can", async () => {
    const path = join(folder("isdir"), "a.log");
    mkdirSync(path);
    const { file, events, problems } = setUp(path);
    file.prepare();
    assert.equal(file.backpressure.closed, true);
    file.write(Buffer.from("one\n"));
    file.write(Buffer.from("two\n"));
    rmSync(path, { recursive: true });
    assert.deepEqual(await once(events, "recovered"), [path, 0, 0]);
    assert.deepEqual(problems, [[path, "EISDIR", `Cannot write ${path}: illegal operation on a directory`]]);
    assert.equal(readFileSync(path, "utf8"), "one\ntwo\n");
    assert.equal(file.backpressure.closed, false);
    file.end();
  });

  it("follows an external rename also after the wall clock was set back", async (context) => {
    const path = join(folder("set-back"), "a.log");
    const { file } = setUp(path);
    file.write(Buffer.from("line\n"));
    context.mock.timers.enable({ apis: ["Date"], now: Date.now() - 5 * 3_600_000 });
    renameSync(path, `${path}.1`);
    for (const limit = performance.now() + 5_000; !existsSync(path); await new Promise(setImmediate)) {
      assert.ok(performance.now() < limit, "lines go on to the renamed file");
      file.write(Buffer.from("line\n"));
    }
    file.end();
  });

  it("drops no line when the wall clock jumps ahead while it can't write", async (context) => {
    const path = join(folder("ahead"), "a.log");
    mkdirSync(path);
    const { file, events } = setUp(path);
    file.write(Buffer.from("one\n"));
    context.mock.timers.enable({ apis: ["Date"], now: Date.now() + 5 * 3_600_000 });
    // The first further attempt fails, too.
    file.reopen();
    assert.equal(file.backpressure.closed, true);
    file.write(Buffer.from("two\n"));
    rmSync(path, { recursive: true });
    assert.deepEqual(await once(events, "recovered"), [path, 0, 0]);
    assert.equal(readFileSync(path, "utf8"), "one\ntwo\n");
    file.end();
  });

  it("waits for a full disk and tears or repeats no line", async (context) => {
    const disk = smallDisk(context, "size=256k");
    if (disk === undefined) return;
    const path = join(disk, "a.log");
    const { file, events, problems } = setUp(path);
    writeFileSync(join(disk, "filler"), Buffer.alloc(150_000));
    let at = 0;
    for (; !file.backpressure.closed; at += 100) file.write(Buffer.from(lines(at, at + 100)));
    file.write(Buffer.from(lines(at, at + 100)));
    assert.equal(problems[0]?.[1], "ENOSPC");
    assert.notEqual(readFileSync(path).at(-1), 0x0a, "the disk was full within a line");
    rmSync(join(disk, "filler"));
    assert.deepEqual(await once(events, "recovered"), [path, 0, 0]);
    assert.equal(readFileSync(path, "utf8"), lines(0, at + 100));
    assert.equal(problems.length, 1);
    file.end();
  });

  it("is emptied on a full disk; what waits for it is then written, with the line that was cut off as a whole", async (context) => {
    const disk = smallDisk(context, "size=256k");
    if (disk === undefined) return;
    const path = join(disk, "a.log");
    const { file } = setUp(path);
    writeFileSync(join(disk, "filler"), Buffer.alloc(150_000));
    let at = 0;
    for (; !file.backpressure.closed; at += 100) file.write(Buffer.from(lines(at, at + 100)));
    file.write(Buffer.from(lines(at, at + 100)));
    const whole = readFileSync(path, "utf8").split("\n").length - 1;
    assert.equal(file.empty(), true);
    assert.equal(file.backpressure.closed, false);
    assert.equal(readFileSync(path, "utf8"), lines(whole, at + 100));
    file.end();
  });

  it("drops and counts lines while the disk stays full, and marks the gap", async (context) => {
    const disk = smallDisk(context, "size=256k");
    if (disk === undefined) return;
    const path = join(disk, "a.log");
    const { file, events } = setUp(path, 100);
    writeFileSync(join(disk, "filler"), Buffer.alloc(150_000));
    let at = 0;
    for (; !file.backpressure.closed; at += 100) file.write(Buffer.from(lines(at, at + 100)));
    const opened = new Promise<void>((resolve) => file.backpressure.watch(resolve));
    await opened;
    const lost = lines(at, at + 7);
    file.write(Buffer.from(lost));
    rmSync(join(disk, "filler"));
    assert.deepEqual(await once(events, "recovered"), [path, 7, lost.length]);
    file.write(Buffer.from(lines(at + 7, at + 8)));
    const mark = `[procman: 7 lines (${lost.length} bytes) lost, no space left on device]\n`;
    assert.equal(readFileSync(path, "utf8"), lines(0, at) + mark + lines(at + 7, at + 8));
    file.end();
  });

  it("reports at its end what it could not write", () => {
    const { file, problems } = setUp("/dev/full");
    file.write(Buffer.from("one\ntwo\n"));
    file.end();
    assert.deepEqual(
      problems.map(([, code, message]) => [code, message]),
      [
        ["ENOSPC", "Cannot write /dev/full: no space left on device"],
        ["ENOSPC", "Cannot write /dev/full: 2 lines (8 bytes) lost, no space left on device"],
      ],
    );
  });

  it("waits for the reader of a FIFO without blocking", async () => {
    const path = join(folder("fifo"), "pipe");
    execFileSync("mkfifo", [path]);
    const { file, events, problems } = setUp(path);
    file.rotation = { sizeBytes: 10, ageMs: 1, totalBytes: 10, gzip: true };
    file.write(Buffer.from(lines(0, 5000)));
    assert.equal(problems[0]?.[1], "ENXIO");
    const read = new Promise<string>((resolve) => {
      const reader = createReadStream(path);
      let text = "";
      reader.on("data", (data) => {
        text += data.toString();
        if (text.length === lines(0, 5000).length) resolve(text);
      });
    });
    await once(events, "recovered");
    assert.equal(await read, lines(0, 5000));
    file.end();
  });
});
