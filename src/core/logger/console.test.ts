import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, it } from "node:test";
import { gunzipSync } from "node:zlib";
import { LoggerRig, numbers, read, sizeOf, until } from "../../../test/support/logger-rig.ts";
import { assertWithin } from "../../../test/support/machine-pace.ts";

const STAMP = "\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z";

// The logger inherits it; its console has host time.
process.env.TZ = "UTC";

let rig: LoggerRig;

describe("console of the logger", () => {
  beforeEach(() => {
    rig = new LoggerRig();
  });
  afterEach(() => rig.end());

  it("writes lines with their id to the console; standard error, marked, and procman's own messages to standard error", async () => {
    const { stdout, stderr } = rig.start("pipe");
    const run = rig.run("web");
    rig.send(
      { t: "style", style: { decorate: true, colors: false } },
      { t: "say", at: 0, severity: "info", text: "hello" },
      { t: "say", at: 0, severity: "warn", id: "web", text: "web waits" },
      rig.open(run, { console: true }),
    );
    await once(rig.child(run, "echo out; echo err >&2"), "exit");
    await rig.drained(run);
    rig.send(
      { t: "style", style: { decorate: false, colors: true } },
      { t: "say", at: 0, severity: "error", text: "bad" },
    );
    const [out, err] = await Promise.all([stdout?.toArray(), stderr?.toArray(), rig.close()]);
    const epoch = "1970-01-01T00:00:00.000Z";
    assert.match((out ?? []).join(""), new RegExp(`^${STAMP} web     \\| out\n$`));
    assert.match(
      (err ?? []).join(""),
      new RegExp(
        `^${epoch} procman \\| hello\n${epoch} web     \\| web waits\n${STAMP} web     ! err\n\u001b\\[31mprocman \\| \u001b\\[0m\u001b\\[31mbad\u001b\\[0m\n$`,
      ),
    );
  });

  it("writes each line as a JSON object, whatever is in it; the time is in UTC", async () => {
    const { stdout, stderr } = rig.start("pipe");
    const run = rig.run("web");
    rig.send(
      { t: "style", style: { decorate: false, colors: true, format: "json" } },
      { t: "say", at: 1, severity: "warn", id: "web", run: 3, text: "web\nwaits" },
      rig.open(run, { console: true, store: { run: 3, instance: 2 } }),
    );
    await once(
      rig.child(run, String.raw`printf 'a\r"b"\177\377\n{"level":"warn"}\n'; echo oops >&2; echo '{"level":30}' >&2`),
      "exit",
    );
    await rig.drained(run);
    const [out, err] = await Promise.all([stdout?.toArray(), stderr?.toArray(), rig.close()]);
    const parsed = (chunks: readonly unknown[] = []): readonly object[] =>
      chunks
        .join("")
        .trimEnd()
        .split("\n")
        .map((line) => ({ ...JSON.parse(line), time: new RegExp(`^${STAMP}$`).test(JSON.parse(line).time) }));
    const web = { time: true, process: "web", instance: 2, run: 3 };
    assert.deepEqual(parsed(out), [
      { ...web, severity: "info", category: "stdout", text: 'a\r"b"\u007f\ufffd' },
      { ...web, severity: "warn", category: "stdout", text: '{"level":"warn"}' },
    ]);
    assert.ok(!(out ?? []).join("").includes("\u007f"));
    assert.deepEqual(parsed(err), [
      { time: true, process: "web", run: 3, severity: "warn", category: "lifecycle", text: "web\nwaits" },
      { ...web, severity: "error", category: "stderr", text: "oops" },
      { ...web, severity: "info", category: "stderr", text: '{"level":30}' },
    ]);
  });

  it("takes the severity of the stream where levels are off, and that of the rules of the configuration", async () => {
    const { stdout } = rig.start("pipe");
    const severities: string[] = [];
    for (const levels of [false, [{ prefix: "x", severity: "warn" }]] as const) {
      const run = rig.run(`web${severities.length}`);
      const style = { decorate: true, colors: false, format: "json" } as const;
      rig.send({ t: "style", style, store: { hours: 0, bytes: 1e6, levels } }, rig.open(run, { console: true }));
      await once(rig.child(run, `echo '{"level":"debug"}'; echo x`), "exit");
      await rig.drained(run);
      severities.push("");
    }
    const [out] = await Promise.all([stdout?.toArray(), rig.close()]);
    const lines = (out ?? []).join("").trimEnd().split("\n");
    assert.deepEqual(
      lines.map((line) => (JSON.parse(line) as { readonly severity: string }).severity),
      ["info", "info", "debug", "warn"],
    );
  });

  it("writes lines as they are without a prefix; procman's own messages keep theirs", async () => {
    const { stdout, stderr } = rig.start("pipe");
    const run = rig.run("web");
    rig.send(
      { t: "style", style: { decorate: true, colors: false, format: "json", prefix: false } },
      { t: "say", at: 1, severity: "info", text: "hello" },
      rig.open(run, { console: true }),
    );
    await once(rig.child(run, String.raw`printf '{"level":"info"}\n\377\r\n'`), "exit");
    await rig.drained(run);
    rig.send(
      { t: "style", style: { decorate: false, colors: false, prefix: false } },
      { t: "say", at: 1, severity: "info", text: "bye" },
    );
    const [out, err] = await Promise.all([stdout?.toArray(), stderr?.toArray(), rig.close()]);
    assert.equal(Buffer.concat((out ?? []) as Buffer[]).toString("latin1"), '{"level":"info"}\n\xff\r\n');
    assert.match((err ?? []).join(""), /^\{"time":.*,"text":"hello"\}\nprocman \| bye\n$/);
  });

  it("has room for the longest id of the configuration from the first line on", async () => {
    const { stderr } = rig.start("pipe");
    rig.send(
      { t: "style", style: { decorate: false, colors: false }, idWidth: 12 },
      { t: "say", at: 0, severity: "info", id: "web", text: "started" },
    );
    const [err] = await Promise.all([stderr?.toArray(), rig.close()]);
    assert.equal((err ?? []).join(""), "web          | started\n");
  });

  it("goes on with standard error when the reader of standard output is gone", async () => {
    const { stdout, stderr } = rig.start("pipe");
    const run = rig.run("web");
    stdout?.destroy();
    rig.send(rig.open(run, { console: true }));
    await once(rig.child(run, "seq 1 100000; echo end >&2"), "exit");
    await rig.drained(run);
    const [err] = await Promise.all([stderr?.toArray(), rig.close()]);
    assert.equal((err ?? []).join(""), "web     ! end\n");
  });

  it("is not blocked by a console without a reader: only streams shown there wait", async () => {
    const { stdout } = rig.start("pipe");
    const [shown, silent] = [rig.run("shown"), rig.run("silent")];
    const file = join(rig.dir, "o.log");
    rig.send(rig.open(shown, { console: true }), rig.open(silent, { stdout: file }));
    const child = rig.child(shown, "seq -w 1 1000000");
    const exited = once(child, "exit");
    await once(rig.child(silent, "seq -w 1 1000000"), "exit");
    await rig.drained(silent);
    assert.equal(child.exitCode, null);
    const shownText = stdout?.setEncoding("latin1").toArray();
    await exited;
    await rig.drained(shown);
    await rig.close();
    const text = (await shownText)?.join("") ?? "";
    assert.ok(text.replaceAll("shown   | ", "") === numbers(1, 1_000_000));
  });

  it("closes within two seconds although the terminal is stopped", async () => {
    rig.start("pipe");
    const run = rig.run("shown");
    rig.send(rig.open(run, { console: true, stdout: join(rig.dir, "o.log") }));
    rig.child(run, "seq -w 1 1000000");
    await until(() => sizeOf(join(rig.dir, "o.log")) > 450_000);
    const begin = Date.now();
    await rig.close();
    assertWithin(2_000, Date.now() - begin, "the end of the logger");
  });

  it("goes to a file without a terminal: with time stamps, without colors, rotated and bounded", async () => {
    const { stdout, stderr } = rig.start("pipe");
    const shown = Promise.all([stdout?.toArray(), stderr?.toArray()]);
    const file = join(rig.dir, "home", "console.log");
    const run = rig.run("web");
    rig.send(
      rig.open(run, { console: true }),
      { t: "style", style: { decorate: false, colors: true, file } },
      { t: "say", at: 0, severity: "error", text: "hello" },
    );
    await once(rig.child(run, "echo err >&2; head -c 50000000 /dev/urandom | base64 -w 100"), "exit");
    await rig.drained(run);
    rig.send({ t: "say", at: 0, severity: "info", text: "bye" });
    assert.equal(await rig.close(), 0);
    assert.equal(statSync(join(rig.dir, "home")).mode & 0o777, 0o700);
    const sizes = readdirSync(join(rig.dir, "home")).map((name) => sizeOf(join(rig.dir, "home", name)));
    assert.ok(sizes.length >= 5, sizes.join());
    assert.ok(Math.max(...sizes) <= 10e6, sizes.join());
    assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 50e6, sizes.join());
    const lines = read(file).split("\n");
    assert.match(lines.at(-2) ?? "", new RegExp(`^${STAMP} procman \\| bye$`));
    assert.ok(
      lines
        .slice(-4, -1)
        .every((line, index, last) => index === 0 || line.slice(0, 24) >= (last[index - 1] ?? "").slice(0, 24)),
    );
    assert.match(lines.at(-4) ?? "", new RegExp(`^${STAMP} web     \\| [A-Za-z0-9+/]{100}$`));
    assert.deepEqual(await shown, [[], []]);
  });

  it("keeps the order of lines when it switches to a file", async () => {
    // With time stamps less than the 40 MB at which rotated files are removed, also while none is compressed yet.
    const { stdout } = rig.start("pipe");
    const file = join(rig.dir, "console.log");
    const run = rig.run("web");
    rig.send(rig.open(run, { console: true }));
    const child = rig.child(run, "seq -f %07.0f 1 500000");
    const exited = once(child, "exit");
    let text = "";
    stdout?.on("data", (data: Buffer) => {
      text += data.toString("latin1");
      if (sizeOf(file) === 0) rig.send({ t: "style", style: { decorate: false, colors: false, file } });
    });
    const shown = stdout === null ? undefined : once(stdout, "end");
    await exited;
    await rig.drained(run);
    await rig.close();
    await shown;
    const dir = readdirSync(rig.dir).filter((name) => name.startsWith("console.log"));
    const [current, ...rotated] = dir.sort();
    const moved = [...rotated, current ?? ""].map((name) => {
      const bytes = readFileSync(join(rig.dir, name));
      return (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("latin1");
    });
    assert.ok([text, ...moved].join("").replaceAll(/^.*\| /gm, "") === numbers(1, 500_000));
    assert.ok(text.length > 0);
  });

  it("continues without a console that was closed", async () => {
    const { stdout } = rig.start("pipe");
    const run = rig.run("shown");
    const file = join(rig.dir, "o.log");
    stdout?.destroy();
    rig.send(rig.open(run, { console: true, stdout: file }));
    await once(rig.child(run, "seq -w 1 1000000"), "exit");
    await rig.drained(run);
    assert.ok(read(file) === numbers(1, 1_000_000));
    assert.equal(await rig.close(), 0);
  });
});
