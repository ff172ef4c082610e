/** Output of real processes through the built procman: every line once, complete, in order, in the right file. Spec 2.3, docs/guide/logs.md. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { procman as command } from "../support/cli.ts";
import { eventually, type Procman, startProcman } from "../support/procman-process.ts";
import { smallDisk } from "../support/skip.ts";

const PROGRAMS = fileURLToPath(new URL("../programs/", import.meta.url));
const PRINT_FAST = `${process.execPath} "${PROGRAMS}print-fast.js"`;
const PRINT_TICKS = `sh "${PROGRAMS}print-ticks.sh"`;
const FOUR = ["a", "b", "c", "d"];
/** A line of print-fast.js: name, stream, number. */
const LINE = /^(\w+ (?:out|err)) (\d+) x{80}\.$/;
const END = /^(\w+ (?:out|err)) end (\d+)$/;
const RESTART_MARK = "[procman: the logger was restarted here; up to 64 KiB of output may be missing]";
/** What a killed logger may lose: one read, and the incomplete line. */
const MOST_MISSING = 64 * 1024 + 256;

const flood = (id: string, args: string, logger: object) => ({
  id,
  cmd: `${PRINT_FAST} ${id} ${args}`,
  autostart: true,
  logger,
});

function linesOf(text: string): string[] {
  assert.ok(text === "" || text.endsWith("\n"), `the last line is complete: ${JSON.stringify(text.slice(-80))}`);
  return text.split("\n").slice(0, -1);
}

/** Checks that every line of each stream is there once, complete and in order. Returns the number of each. */
function lineCounts(lines: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  const ended = new Set<string>();
  for (const line of lines) {
    const [, stream = "", number] =
      LINE.exec(line) ?? END.exec(line) ?? assert.fail(`a damaged line: ${JSON.stringify(line)}`);
    assert.ok(!ended.has(stream), `${stream} continues after its end`);
    const last = counts.get(stream) ?? 0;
    if (END.test(line)) {
      assert.equal(last, Number(number), `${stream} has all lines that were printed`);
      ended.add(stream);
    } else {
      assert.equal(Number(number), last + 1, `${stream} is in order`);
      counts.set(stream, last + 1);
    }
  }
  assert.deepEqual([...ended].sort(), [...counts.keys()].sort(), "every stream is complete");
  return counts;
}

/** Checks the file of one stream after a kill of its logger: missing or torn lines are beside the mark, and at most one read. */
function checkAroundMark(path: string): void {
  const lines = linesOf(readFileSync(path, "utf8"));
  const at = lines.indexOf(RESTART_MARK);
  assert.ok(at > 0, `${path} has a mark`);
  assert.equal(lines.lastIndexOf(RESTART_MARK), at, `${path} has one mark`);
  const isWhole = (line: string | undefined): boolean => line !== undefined && (LINE.test(line) || END.test(line));
  const before = lines.slice(0, isWhole(lines[at - 1]) ? at : at - 1);
  const after = lines.slice(isWhole(lines[at + 1]) ? at + 1 : at + 2);
  const numbers = (some: readonly string[]): number[] =>
    some.map((line) =>
      Number(
        (LINE.exec(line) ?? assert.fail(`${path}: a damaged line away from the mark: ${JSON.stringify(line)}`))[2],
      ),
    );
  const [head, tail] = [numbers(before), numbers(after.slice(0, -1))];
  for (const [index, number] of head.entries()) assert.equal(number, index + 1, `${path}: in order before the mark`);
  const first = tail[0] ?? assert.fail(`${path} continues after the mark`);
  for (const [index, number] of tail.entries()) assert.equal(number, first + index, `${path}: in order after the mark`);
  assert.equal(Number(END.exec(after.at(-1) ?? "")?.[2]), tail.at(-1), `${path} has its end`);
  const missing = first - head.length - 1;
  assert.ok(missing >= 0, `${path}: ${-missing} lines are doubled`);
  assert.ok(missing * (lines[0] ?? "").length <= MOST_MISSING, `${path}: ${missing} lines are missing`);
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

const textOf = (path: string): string => (existsSync(path) ? readFileSync(path, "utf8") : "");

/** Resolves when the file has grown by `bytes`. */
async function waitForGrowth(path: string, bytes: number): Promise<void> {
  const from = sizeOf(path);
  await eventually(() => (sizeOf(path) >= from + bytes ? true : undefined));
}

function serviceOf(procman: Procman): Promise<number> {
  return eventually(() => {
    try {
      return procman.helper("service");
    } catch {
      // It is starting.
      return undefined;
    }
  });
}

/** A file whose removal ends endless programs. */
function signalFile(context: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "procman-go-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "on"), "");
  return join(folder, "on");
}

test("2.3 four processes under full load, into one file and into separate files: every line once, complete, in order", async (context) => {
  const procman = await startProcman(
    context,
    FOUR.map((id) => flood(id, "60000 6000", { stdout: "logs/all.log", stderr: "logs/{id}.err" })),
  );
  await procman.count(/ finished/, 4);
  assert.equal(await procman.stop(), 0);
  const all = lineCounts(linesOf(readFileSync(join(procman.folder, "logs/all.log"), "utf8")));
  assert.deepEqual(Object.fromEntries(all), Object.fromEntries(FOUR.map((id) => [`${id} out`, 60_000])));
  for (const id of FOUR)
    assert.deepEqual(
      [...lineCounts(linesOf(readFileSync(join(procman.folder, `logs/${id}.err`), "utf8")))],
      [[`${id} err`, 6_000]],
    );
});

test("2.3 the service is killed three times under a flood of lines: no line is lost, doubled or torn", async (context) => {
  const go = signalFile(context);
  const procman = await startProcman(
    context,
    FOUR.map((id) => flood(id, `0 0 "${go}"`, { stdout: "logs/{id}.log" })),
  );
  const last = join(procman.folder, "logs/d.log");
  await procman.count(/ started/, 4);
  for (let kills = 1; kills <= 3; kills += 1) {
    await waitForGrowth(last, 100_000);
    process.kill(await serviceOf(procman), "SIGKILL");
    await procman.count(/service ended \(SIGKILL\); restarting it/, kills);
    await serviceOf(procman);
  }
  await waitForGrowth(last, 100_000);
  rmSync(go);
  await procman.count(/ finished/, 4);
  assert.equal(await procman.stop(), 0);
  for (const id of FOUR) {
    const counts = lineCounts(linesOf(readFileSync(join(procman.folder, `logs/${id}.log`), "latin1")));
    assert.deepEqual([...counts.keys()].sort(), [`${id} err`, `${id} out`]);
  }
});

test("2.3 the logger is killed under a flood of lines: missing lines are beside its mark, and no other line is torn or doubled", async (context) => {
  const go = signalFile(context);
  const procman = await startProcman(
    context,
    FOUR.map((id) => flood(id, `0 0 "${go}"`, { stdout: "logs/{id}.log", stderr: "logs/{id}.err" })),
  );
  const logs = join(procman.folder, "logs");
  const paths = FOUR.flatMap((id) => [join(logs, `${id}.log`), join(logs, `${id}.err`)]);
  await Promise.all(paths.map((path) => waitForGrowth(path, 20_000)));
  process.kill(procman.helper("logger"), "SIGKILL");
  await Promise.all(paths.map((path) => waitForGrowth(path, 300_000)));
  rmSync(go);
  await procman.count(/ finished/, 4);
  assert.equal(await procman.stop(), 0);
  for (const path of paths) checkAroundMark(path);
});

test("2.3 stdout and stderr: a process's files take precedence over the global ones; stderr goes to stdout's file when omitted", async (context) => {
  const cmd = (id: string) => `echo ${id}-out; echo ${id}-err >&2`;
  const procman = await startProcman(
    context,
    [
      { id: "global", cmd: cmd("global"), autostart: true },
      { id: "own", cmd: cmd("own"), autostart: true, logger: { stdout: "logs/own.log" } },
      { id: "both", cmd: cmd("both"), autostart: true, logger: { stdout: "logs/both.log", stderr: "logs/both.err" } },
      { id: "error", cmd: cmd("error"), autostart: true, logger: { stderr: "logs/error.err" } },
    ],
    { config: { logger: { stdout: "logs/global.log", stderr: "logs/global.err" } } },
  );
  await procman.count(/ finished/, 4);
  assert.equal(await procman.stop(), 0);
  const sorted = (file: string): string[] => linesOf(readFileSync(join(procman.folder, "logs", file), "utf8")).sort();
  assert.deepEqual(sorted("global.log"), ["error-out", "global-out"]);
  assert.deepEqual(sorted("global.err"), ["global-err"]);
  assert.deepEqual(sorted("own.log"), ["own-err", "own-out"]);
  assert.deepEqual(sorted("both.log"), ["both-out"]);
  assert.deepEqual(sorted("both.err"), ["both-err"]);
  assert.deepEqual(sorted("error.err"), ["error-err"]);
  assert.equal(readdirSync(join(procman.folder, "logs")).length, 6);
});

test("2.3 placeholders {name}, {id}, {process} and {instance} are replaced for each instance of a cluster", async (context) => {
  const procman = await startProcman(
    context,
    [
      { id: "web", cmd: 'echo "I am $PROCMAN_PROCESS_ID"', autostart: true, cluster: { instances: 2 } },
      { id: "mail", cmd: "echo mail", autostart: true },
    ],
    { config: { name: "shop", logger: { stdout: "logs/{name}/{process}/{id}.{instance}.log" } } },
  );
  await procman.count(/ finished/, 3);
  assert.equal(await procman.stop(), 0);
  const logs = join(procman.folder, "logs/shop");
  assert.equal(readFileSync(join(logs, "web/web-1.1.log"), "utf8"), "I am web-1\n");
  assert.equal(readFileSync(join(logs, "web/web-2.2.log"), "utf8"), "I am web-2\n");
  assert.equal(readFileSync(join(logs, "mail/mail..log"), "utf8"), "mail\n");
});

test("2.3 decorateFiles: an ISO time before each line, a mark at errors among output, the id where several share a file", async (context) => {
  const from = Date.now();
  const procman = await startProcman(
    context,
    [
      {
        id: "alone",
        cmd: "echo one; echo two >&2; printf 'thrée'",
        autostart: true,
        logger: { stdout: "logs/alone.log" },
      },
      {
        id: "web",
        cmd: "until [ -e go ]; do sleep 0.02; done; echo of $PROCMAN_PROCESS_ID",
        autostart: true,
        cluster: { instances: 2 },
        logger: { stdout: "logs/shared.log" },
      },
      { id: "plain", cmd: "echo plain", autostart: true, logger: { stdout: "logs/plain.log", decorateFiles: false } },
    ],
    { config: { logger: { decorateFiles: true } } },
  );
  await procman.count(/web-\d .*started/, 2);
  writeFileSync(join(procman.folder, "go"), "");
  await procman.count(/ finished/, 4);
  assert.equal(await procman.stop(), 0);
  const read = (file: string): string[] => linesOf(readFileSync(join(procman.folder, "logs", file), "utf8"));
  const alone = read("alone.log");
  for (const line of [...alone, ...read("shared.log")]) {
    const [stamp = ""] = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z(?= )/.exec(line) ?? assert.fail(line);
    assert.ok(Date.parse(stamp) >= from && Date.parse(stamp) <= Date.now(), line);
  }
  const texts = (lines: readonly string[]): string[] => lines.map((line) => line.slice(25)).sort();
  assert.deepEqual(texts(alone), ["! two", "one", "thrée"]);
  assert.deepEqual(texts(read("shared.log")), ["web-1 of web-1", "web-2 of web-2"]);
  assert.deepEqual(read("plain.log"), ["plain"]);
});

test("2.3 decorateFiles: processes that share a file in turns have their ids, whatever was killed or added meanwhile", async (context) => {
  const logger = { stdout: "shared.log", stderr: "own-{id}.log", decorateFiles: true };
  const sharer = (id: string, more: object = {}) => ({ id, cmd: `echo ${id}; echo ${id} >&2`, logger, ...more });
  const other = {
    id: "other",
    cmd: "until [ -e go ]; do sleep 0.02; done; echo other",
    autostart: true,
    logger: { ...logger, stdout: "other.log" },
  };
  const procman = await startProcman(context, [sharer("one", { autostart: true }), sharer("two"), other]);
  const run = async (...args: string[]) => {
    const { code, out, err } = await command(procman.folder, args);
    assert.equal(code, 0, out + err);
  };
  await procman.line(/one .*finished/);
  await run("start", "two", "--no-wait");
  await procman.line(/two .*finished/);
  const killed = procman.helper("logger");
  process.kill(killed, "SIGKILL");
  await eventually(() => ([killed, undefined].includes(procman.helperIfUp("logger")) ? undefined : true));
  await run("start", "one", "--no-wait");
  await procman.count(/one .*finished/, 2);
  await run("upgrade");
  await run("start", "two", "--no-wait");
  await procman.count(/two .*finished/, 2);
  const added = { ...sharer("added"), logger: other.logger };
  writeFileSync(
    join(procman.folder, "procman.json"),
    JSON.stringify({ processes: [sharer("one", { autostart: true }), sharer("two"), other, added] }),
  );
  await run("reload");
  writeFileSync(join(procman.folder, "go"), "");
  await procman.line(/other .*finished/);
  assert.equal(await procman.stop(), 0);
  const texts = (file: string): readonly string[] =>
    linesOf(readFileSync(join(procman.folder, file), "utf8")).flatMap((line) =>
      line.startsWith("[procman") ? [] : [line.slice(25)],
    );
  assert.deepEqual(texts("shared.log"), ["one one", "two two", "one one", "two two"]);
  assert.deepEqual(texts("own-one.log"), ["one", "one"]);
  assert.deepEqual(texts("other.log"), ["other other"]);
});

test("2.3 console: each line of both streams with the id before it, standard error marked, no time and no colors without a terminal", async (context) => {
  const procman = await startProcman(context, [
    { id: "web", cmd: "echo out; echo err >&2; printf last", autostart: true, logger: { console: true } },
    { id: "quiet", cmd: "echo unshown", autostart: true },
  ]);
  await procman.count(/ finished/, 2);
  assert.equal(await procman.stop(), 0);
  assert.deepEqual(
    procman.lines
      .filter((line) => /^web +[|!] (?:out|err|last)$/.test(line))
      .map((line) => line.replace(/^web +/, ""))
      .sort(),
    ["! err", "| last", "| out"],
    procman.lines.join("\n"),
  );
  assert.ok(!procman.lines.some((line) => line.includes("\u001b")), "no colors");
  assert.ok(!procman.lines.some((line) => line.includes("unshown")), "a process without console is not shown");
});

test("2.3 console: decorate adds the time, colors colors each line and ends the color", async (context) => {
  const web = { id: "web", cmd: "echo hello", autostart: true, logger: { console: true } };
  const config = { logger: { decorate: true, colors: true } };
  const plain = await startProcman(context, [web], { config, env: { TZ: "UTC" } });
  assert.match(await plain.line(/hello/), /^\d{4}-\d\d-\d\dT[\d:.]+Z web +\| hello$/, "without a terminal");
  const procman = await startProcman(context, [web], { config, env: { TZ: "UTC", FORCE_COLOR: "1" } });
  const line = await procman.line(/hello/);
  assert.match(line, /^\u001b\[\d+m\d{4}-\d\d-\d\dT[\d:.]+Z web +\| \u001b\[0m.*hello/);
  assert.ok(line.endsWith("\u001b[0m"));
});

test("2.3 console: with the format json each line is an object, also a warning about the configuration", async (context) => {
  const config = { logger: { console: true, format: "json" } };
  const procman = await startProcman(
    context,
    [
      { id: "once", cmd: "echo done", autostart: true },
      { id: "idle", cmd: "true" },
    ],
    { config },
  );
  await procman.line(/"process":"once".*"text":"done"/);
  const entries = procman.lines.map((line) => JSON.parse(line));
  assert.ok(
    entries.some(
      ({ severity, text }) => severity === "warn" && /procman\.json:1:\d+: No start policy: "idle"/.test(text),
    ),
  );
});

test("2.3 a last line without a newline gets one, and bytes stay as they are", async (context) => {
  const procman = await startProcman(context, [
    { id: "last", cmd: "printf 'one\\ntwo'", autostart: true, logger: { stdout: "logs/last.log" } },
    { id: "bytes", cmd: "printf 'a\\r\\n\\n\\377\\000\\tb\\n'", autostart: true, logger: { stdout: "logs/bytes.log" } },
    {
      id: "long",
      cmd: "head -c 900000 /dev/zero | tr '\\0' y; echo",
      autostart: true,
      logger: { stdout: "logs/long.log" },
    },
  ]);
  await procman.count(/ finished/, 3);
  assert.equal(await procman.stop(), 0);
  assert.equal(readFileSync(join(procman.folder, "logs/last.log"), "utf8"), "one\ntwo\n");
  assert.equal(readFileSync(join(procman.folder, "logs/bytes.log"), "latin1"), "a\r\n\n\xff\0\tb\n");
  assert.ok(
    readFileSync(join(procman.folder, "logs/long.log"), "utf8") === `${"y".repeat(900_000)}\n`,
    "a long line is complete",
  );
});

test("2.3 a log folder that is deleted during writing is created again with the next lines", async (context) => {
  const procman = await startProcman(context, [
    { id: "ticks", cmd: `${PRINT_TICKS} tick`, autostart: true, logger: { stdout: "logs/deep/ticks.log" } },
  ]);
  const path = join(procman.folder, "logs/deep/ticks.log");
  await eventually(() => (textOf(path).includes("tick 3\n") ? true : undefined));
  rmSync(join(procman.folder, "logs"), { recursive: true });
  const first = Number(await eventually(() => /^tick (\d+)\n/.exec(textOf(path))?.[1]));
  assert.ok(first > 3);
  await eventually(() => (textOf(path).includes(`tick ${first + 3}\n`) ? true : undefined));
  assert.equal(await procman.stop(), 0);
  for (const [index, line] of linesOf(readFileSync(path, "utf8")).entries())
    assert.equal(line, `tick ${first + index}`);
});

test("2.3 rotation: over all files of a log, compressed or not, every line is there once and in order", async (context) => {
  const procman = await startProcman(
    context,
    ["a", "b"].map((id) => flood(id, "30000 3000", { stdout: "logs/{id}.log", rotate: { size: 200_000, gzip: true } })),
  );
  await procman.count(/ finished/, 2);
  const logs = join(procman.folder, "logs");
  await eventually(() => (readdirSync(logs).some((name) => name.endsWith(".gz")) ? true : undefined));
  assert.equal(await procman.stop(), 0);
  assert.ok(!readdirSync(logs).some((name) => name.endsWith(".tmp")), "no partly compressed file is left");
  for (const id of ["a", "b"]) {
    const rotated = readdirSync(logs).filter((name) => name.startsWith(`${id}.log.`));
    assert.ok(rotated.length >= 10, `${rotated.length} rotated files`);
    const parts = [...rotated.sort(), `${id}.log`].map((name) => {
      const bytes = readFileSync(join(logs, name));
      return name.endsWith(".gz") ? gunzipSync(bytes) : bytes;
    });
    for (const part of parts) assert.ok(part.length <= 200_000, `a file of ${part.length} bytes`);
    const counts = lineCounts(linesOf(Buffer.concat(parts).toString("utf8")));
    assert.deepEqual(Object.fromEntries(counts), { [`${id} out`]: 30_000, [`${id} err`]: 3_000 });
  }
});

test("2.3 rotation: all rotated files together stay within their total; the oldest are deleted first", async (context) => {
  const procman = await startProcman(context, [
    flood("a", "20000 0", { stdout: "logs/a.log", rotate: { size: 100_000, total: 350_000, gzip: false } }),
  ]);
  await procman.line(/a .* finished/);
  assert.equal(await procman.stop(), 0);
  const logs = join(procman.folder, "logs");
  const rotated = readdirSync(logs).filter((name) => name.startsWith("a.log."));
  assert.ok(rotated.reduce((sum, name) => sum + sizeOf(join(logs, name)), 0) <= 350_000);
  const lines = [...rotated.sort(), "a.log"].flatMap((name) => linesOf(readFileSync(join(logs, name), "utf8")));
  const numbers = lines.slice(0, -1).map((line) => Number(LINE.exec(line)?.[2]));
  assert.ok(numbers.length > 3_000);
  const kept = Array.from({ length: numbers.length }, (_, index) => 20_000 - numbers.length + 1 + index);
  assert.deepEqual(numbers, kept, "the last lines are kept, without a gap");
});

test("2.3 SIGUSR2 after the file was renamed opens it again at once, even without output", async (context) => {
  const procman = await startProcman(context, [
    {
      id: "web",
      cmd: "echo one; until [ -e go ]; do sleep 0.02; done; echo two; sleep 1000",
      autostart: true,
      logger: { stdout: "logs/web.log", rotate: false },
    },
  ]);
  const [path, old] = [join(procman.folder, "logs/web.log"), join(procman.folder, "logs/web.log.1")];
  await eventually(() => (textOf(path) === "one\n" ? true : undefined));
  renameSync(path, old);
  procman.child.kill("SIGUSR2");
  await eventually(() => (existsSync(path) ? true : undefined));
  writeFileSync(join(procman.folder, "go"), "");
  await eventually(() => (textOf(path) === "two\n" ? true : undefined));
  assert.equal(textOf(old), "one\n");
  assert.equal(await procman.stop(), 0);
});

test("2.3 a full disk is reported once and other logs continue; with room again no line is lost, and that is reported", async (context) => {
  const disk = smallDisk(context, "size=300k");
  if (disk === undefined) return;
  const ballast = join(disk, "ballast");
  writeFileSync(ballast, Buffer.alloc(200 * 1024));
  const procman = await startProcman(context, [
    flood("full", "1800 200", { stdout: join(disk, "full.log"), rotate: false }),
    { id: "other", cmd: `${PRINT_TICKS} tick`, autostart: true, logger: { stdout: "logs/other.log" } },
  ]);
  const other = join(procman.folder, "logs/other.log");
  await procman.line(/Cannot write .*full\.log.*no space left/);
  const ticks = (): number => textOf(other).split("\n").length - 1;
  const before = ticks();
  // More than a second: several attempts to write.
  await eventually(() => (ticks() >= before + 20 ? true : undefined));
  assert.equal(procman.lines.filter((line) => /full\.log/.test(line)).length, 1, "reported once");
  rmSync(ballast);
  await procman.line(/full\.log.*can be written again.*no line was lost/);
  await procman.line(/full .*finished/);
  assert.equal(await procman.stop(), 0);
  assert.deepEqual(Object.fromEntries(lineCounts(linesOf(textOf(join(disk, "full.log"))))), {
    "full out": 1_800,
    "full err": 200,
  });
  assert.deepEqual(
    linesOf(textOf(other)),
    Array.from({ length: ticks() }, (_, index) => `tick ${index + 1}`),
  );
});

test("2.3 a folder in the place of a log file is reported, and the lines follow when it is gone", async (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-place-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "web.log");
  mkdirSync(path);
  const procman = await startProcman(context, [
    { id: "web", cmd: "echo one; sleep 1000", autostart: true, logger: { stdout: path } },
  ]);
  await procman.line(/Cannot write .*web\.log.*directory/);
  const status = async (): Promise<string> => (await command(procman.folder, ["status"])).out;
  assert.match(await status(), /^web +running .* runs; Cannot write .*web\.log: .*directory/m);
  rmSync(path, { recursive: true });
  await procman.line(/web\.log can be written again; no line was lost/);
  await eventually(() => (textOf(path) === "one\n" ? true : undefined));
  assert.match(await status(), /^web +running .* runs$/m);
  assert.equal(await procman.stop(), 0);
});
