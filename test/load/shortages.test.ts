/** A lack of files, inodes and processes, and kills of procman. Spec 2.2, docs/guide/supervision.md. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { procman as cli } from "../support/cli.ts";
import { childrenOf, commandLineOf } from "../support/proc-files.ts";
import { eventually, folderWith, isAlive, Procman, processExit, startProcman } from "../support/procman-process.ts";
import { BIN } from "../support/product.ts";
import { skip, smallDisk } from "../support/skip.ts";

const PROGRAMS = fileURLToPath(new URL("../programs/", import.meta.url));
/** A user without other processes. */
const USER = 54_321;
const pidIn = (line: string | undefined): number => Number(/pid (\d+)/.exec(line ?? "")?.[1]);
const many = (count: number, of: (id: string) => object) =>
  Array.from({ length: count }, (_, index) => ({ id: `p${index + 1}`, ...of(`p${index + 1}`) }));
const limited = (limit: string): readonly string[] => ["sh", "-c", `ulimit ${limit}; exec "$@"`, "sh"];

/** The ids of matching lines, each once. */
function idsOf(procman: Procman, pattern: RegExp): readonly string[] {
  return [...new Set(procman.lines.filter((line) => pattern.test(line)).map((line) => line.split(/ +\|/)[0] ?? ""))];
}

const startedPids = (procman: Procman): readonly number[] =>
  procman.lines.filter((line) => / started \(pid/.test(line)).map(pidIn);

/** Resolves when each process was reported as started, or with the reason why not. */
async function allReported(procman: Procman, count: number): Promise<void> {
  const decided = () => idsOf(procman, /started \(pid|could not be started/);
  await procman.until(() => (decided().length === count ? true : undefined), `${count} that started or could not`);
}

/** Pid of the service, as soon as it runs. */
async function nextService(keeper: number, before: number | undefined): Promise<number> {
  for (
    const end = performance.now() + 20_000;
    performance.now() < end;
    await new Promise((resolve) => setImmediate(resolve))
  ) {
    const service = childrenOf(keeper).find((pid) => pid !== before && isService(pid));
    if (service !== undefined) return service;
  }
  throw new Error("no service starts");
}

function isService(pid: number): boolean {
  return /service\.cjs|^procman.*: service/.test(commandLineOf(pid)) && isAlive(pid);
}

test("EMFILE at start: processes that can't be started report the reason, the others run, and everything ends in order", async (context) => {
  const processes = many(100, (id) => ({
    cmd: `echo "hello of ${id}"; sleep 1000`,
    autostart: true,
    restartLimit: 0,
    logger: { console: true },
  }));
  const procman = await startProcman(context, processes, { launcher: limited("-n 64") });
  await allReported(procman, 100);
  const failed = idsOf(
    procman,
    /could not be started: procman may open no more files \(EMFILE\).* higher "ulimit -n", now 64 \(LimitNOFILE=/,
  );
  const started = idsOf(procman, /started \(pid/);
  assert.ok(failed.length > 0, "not all can run");
  assert.ok(started.length >= 5, `${started.length} run`);
  assert.equal(failed.length + started.length, 100);
  for (const id of started) await procman.line(new RegExp(`^${id} .*hello of ${id}$`));
  const pids = startedPids(procman);
  assert.equal(await procman.stop(), 0);
  for (const pid of pids) await processExit(pid);
});

test("EMFILE: as many run as the limit allows, the others name it, procman answers, and all lines are in their two files", async (context) => {
  const cmd = "for i in 1 2 3; do echo out $i; echo err $i >&2; sleep 0.5; done; exec sleep 1000";
  const processes = many(40, (id) => ({
    cmd,
    autostart: true,
    restart: "always",
    logger: { stdout: `logs/${id}.out`, stderr: `logs/${id}.err` },
  }));
  for (const [limit, least] of [
    [64, 8],
    [110, 30],
    [150, 40],
    [256, 40],
  ] as const) {
    const procman = await startProcman(context, processes, { launcher: limited(`-n ${limit}`) });
    await allReported(procman, 40);
    const { out, err } = await cli(procman.folder, ["status", "--json"]);
    const records = JSON.parse(out || err) as readonly ProcessRecord[];
    const [running, others] = [true, false].map((is) =>
      records.filter(({ status }) => (status === "running") === is),
    ) as [ProcessRecord[], ProcessRecord[]];
    assert.ok(running.length >= least, `${running.length} of 40 run with ${limit}`);
    for (const { status, reason } of others)
      assert.match(
        `${status}: ${reason}`,
        new RegExp(`^(backoff|starting|errored): .*(higher "ulimit -n", now ${limit} |is being started)`),
      );
    const file = (name: string): string => readFileSync(join(procman.folder, "logs", name), "utf8");
    for (const { id } of running)
      for (const stream of ["out", "err"])
        await eventually(() =>
          existsSync(join(procman.folder, `logs/${id}.${stream}`)) && file(`${id}.${stream}`).includes(`${stream} 3`)
            ? true
            : undefined,
        );
    for (const { id } of running) assert.equal(file(`${id}.err`), "err 1\nerr 2\nerr 3\n");
    assert.equal(await procman.stop(), 0);
    const odd = procman.lines.filter((line) => /this is a bug|Cannot (?!keep incidents)/.test(line));
    assert.deepEqual(odd, [], `with ${limit}`);
  }
});

test("EMFILE: the keeper is killed while its processes use up all descriptors: those that run keep their pids, the others say why", async (context) => {
  const processes = many(60, (id) => ({
    cmd: "sleep 1000",
    autostart: true,
    restart: "always",
    logger: { stdout: `${id}.log` },
  }));
  const procman = await startProcman(context, processes, { launcher: limited("-n 110") });
  await allReported(procman, 60);
  const running = async (): Promise<readonly string[]> => {
    const { out } = await cli(procman.folder, ["status", "--json"]);
    const records = JSON.parse(out) as readonly ProcessRecord[];
    assert.equal(records.length, 60);
    const others = records.filter(({ status }) => status !== "running");
    for (const { status, reason } of others)
      assert.match(`${status}: ${reason}`, /^(backoff|starting|errored): .*(EMFILE|start)/);
    return records.flatMap(({ id, status, pid }) => (status === "running" ? [`${id} ${pid}`] : []));
  };
  const before = await running();
  assert.ok(before.length >= 5 && before.length < 60, `${before.length} run`);
  process.kill(procman.pid, "SIGKILL");
  await procman.successor();
  const after = await running();
  assert.deepEqual(
    before.filter((each) => !after.includes(each)),
    [],
  );
  await procman.stopHolder();
});

test("without inodes in the state folder a process whose output can't be captured reports the reason, the others run", async (context) => {
  const disk = smallDisk(context, "size=4m,nr_inodes=12");
  if (disk === undefined) return;
  const processes = [
    ...many(8, () => ({ cmd: "sleep 1000", autostart: true, restartLimit: 0, logger: { console: true } })),
    { id: "silent1", cmd: "sleep 1000", autostart: true },
    { id: "silent2", cmd: "sleep 1000", autostart: true },
  ];
  const procman = await startProcman(context, processes, { env: { PROCMAN_STATE_DIR: disk } });
  await allReported(procman, 10);
  assert.ok(idsOf(procman, /could not be started: its output can't be captured: .*(no space|ENOSPC)/i).length > 0);
  await procman.line(/^procman: the output of silent\d is not stored: /);
  assert.ok(!procman.lines.some((line) => /the service ended/.test(line)), "the service stays alive");
  // Whether it still had room for its address depends on who was first. The next one has none.
  assert.throws(() => {
    for (let number = 1; ; number += 1) writeFileSync(join(disk, `full-${number}`), "", { flag: "wx" });
  }, /ENOSPC/);
  process.kill(procman.helper("service"), "SIGKILL");
  const { code, err } = await cli(procman.folder, ["status"], { PROCMAN_STATE_DIR: disk });
  assert.equal(code, 69);
  assert.match(
    err,
    new RegExp(
      `^procman: Cannot reach procman: it is running \\(pid ${procman.pid}\\), but ${disk}/procman has no room left for its address; free some space`,
    ),
  );
  // Frees inodes.
  execFileSync("mount", ["-o", "remount,nr_inodes=200", disk]);
  const later = await cli(procman.folder, ["status"], { PROCMAN_STATE_DIR: disk });
  assert.deepEqual([later.code, later.err, /silent1/.test(later.out)], [3, "", true]);
  for (const id of ["silent1", "silent2"]) assert.ok(isAlive(pidIn(await procman.line(new RegExp(`${id} .*started`)))));
  const pids = startedPids(procman);
  assert.equal(await procman.stop(), 0);
  for (const pid of pids) await processExit(pid);
});

test("a state folder that can't be created is named, exit code 1, nothing runs", async (context) => {
  const disk = smallDisk(context, "size=100k,ro");
  if (disk === undefined) return;
  const folder = folderWith(context, { processes: [{ id: "web", cmd: "touch ran; sleep 1000", autostart: true }] });
  const procman = new Procman(folder, { env: { PROCMAN_STATE_DIR: join(disk, "state") } });
  assert.equal((await procman.exit()).code, 1);
  const line = await procman.line(/state folder .*can't be used/);
  assert.ok(line.includes(disk) && /EROFS|read-only/i.test(line), line);
  assert.ok(!procman.lines.some((each) => /^ +at /.test(each)), "no stack trace");
  assert.ok(!existsSync(join(folder, "ran")));
});

test("EAGAIN: without room for more processes some report the reason, the others continue, and everything ends in order", async (context) => {
  if (process.getuid?.() !== 0) return skip(context, "needs root, to become a user with few processes");
  const user = ["setpriv", "--reuid", `${USER}`, "--regid", `${USER}`, "--clear-groups"];
  try {
    execFileSync("setpriv", [...user.slice(1), process.execPath, BIN, "version"], { stdio: "pipe" });
  } catch (error) {
    return skip(context, `another user can't run procman from here: ${(error as Error).message}`);
  }
  const processes = many(80, () => ({ cmd: "sleep 1000", autostart: true, restartLimit: 0 }));
  const folder = folderWith(context, { processes });
  chownSync(folder, USER, USER);
  chmodSync(join(folder, "procman.json"), 0o644);
  const procman = new Procman(folder, { launcher: [...user, "prlimit", "--nproc=80", "--"] });
  context.after(() => {
    // After a failure: processes that the user still runs would count the next time.
    if (procman.child.exitCode !== null || procman.child.signalCode !== null) return;
    procman.child.kill("SIGKILL");
    for (const pid of startedPids(procman).filter(isAlive)) process.kill(pid, "SIGKILL");
  });
  await allReported(procman, 80);
  const failed = idsOf(
    procman,
    /could not be started: no more processes may be started \(EAGAIN\); raise "ulimit -u", now 80, /,
  );
  const pids = startedPids(procman);
  assert.ok(failed.length > 0, "not all can run");
  assert.ok(pids.length >= 5, `${pids.length} run`);
  for (const pid of pids) assert.ok(isAlive(pid));
  assert.equal(await procman.stop(), 0);
  for (const pid of pids) await processExit(pid);
});

test("the service dies during the first start: started processes continue, and the next service starts the others", async (context) => {
  const schedule = { cron: "0 0 1 1 *", overrun: false };
  const processes = many(30, (id) => ({
    cmd: `echo ${id} >> ran.txt; sleep 1000`,
    autostart: true,
    ...(Number(id.slice(1)) % 3 === 0 ? schedule : {}),
    ...(id === "p20" ? { dependsOn: ["p1", "p30"] } : {}),
  }));
  const [folder, point] = [
    folderWith(context, { processes }),
    join(mkdtempSync(join(tmpdir(), "procman-point-")), "point"),
  ];
  writeFileSync(point, "");
  context.after(() => rmSync(dirname(point), { recursive: true, force: true }));
  const procman = new Procman(folder, { env: { PROCMAN_FAILPOINTS: `service.begun=${point}` } });
  await procman.line(/the service ended \(SIGKILL\)/);
  const startedIds = (): readonly string[] =>
    existsSync(join(folder, "ran.txt")) ? readFileSync(join(folder, "ran.txt"), "utf8").trim().split("\n") : [];
  await eventually(() => (startedIds().length >= 30 ? true : undefined));
  assert.equal(existsSync(point), false);
  assert.deepEqual([...startedIds()].sort(), processes.map(({ id }) => id).sort());
  assert.equal(await procman.stop(), 0);
  assert.equal(startedIds().length, 30, "no process was started twice");
});

test("the service is killed five times as soon as it starts: afterwards every process runs exactly once", async (context) => {
  const processes = many(10, (id) => ({ cmd: `echo $$ >> ${id}.starts; exec sleep 1000`, autostart: true }));
  const procman = await startProcman(context, processes);
  let service: number | undefined;
  for (let kills = 1; kills <= 5; kills += 1) {
    service = await nextService(procman.pid, service);
    process.kill(service, "SIGKILL");
    await procman.count(/service ended \(SIGKILL\); restarting it/, kills);
  }
  const last = await nextService(procman.pid, service);
  const endpoint = join(procman.folder, ".procman/procman/endpoint.json");
  await eventually(() =>
    existsSync(endpoint) && readFileSync(endpoint, "utf8").includes(`"pid":${last},`) ? true : undefined,
  );
  const pids: number[] = [];
  for (const { id } of processes) {
    const starts = await startsOf(procman, id);
    assert.match(starts, /^\d+\n$/, `${id} was started once`);
    pids.push(Number(starts));
  }
  assert.deepEqual(pids.filter(isAlive), pids);
  assert.equal(await procman.stop(), 0);
  assert.deepEqual(pids.filter(isAlive), []);
});

/** What the process has written at its starts: a pid each. */
function startsOf({ folder }: Procman, id: string): Promise<string> {
  const file = join(folder, `${id}.starts`);
  // A file without a line was just created.
  return eventually(() => (existsSync(file) && readFileSync(file, "utf8")) || undefined);
}

for (const moment of [20, 60, 100, 140, 200])
  test(`the service is killed ${moment} ms after its start: every process runs exactly once`, async (context) => {
    const processes = many(10, (id) => ({ cmd: `echo $$ >> ${id}.starts; exec sleep 1000`, autostart: true }));
    const procman = await startProcman(context, processes);
    const first = await nextService(procman.pid, undefined);
    await new Promise((resolve) => setTimeout(resolve, moment));
    process.kill(first, "SIGKILL");
    const last = await nextService(procman.pid, first);
    const endpoint = join(procman.folder, ".procman/procman/endpoint.json");
    await eventually(() =>
      existsSync(endpoint) && readFileSync(endpoint, "utf8").includes(`"pid":${last},`) ? true : undefined,
    );
    for (const { id } of processes) {
      const text = await startsOf(procman, id);
      assert.match(text, /^\d+\n$/, `${id} was started once`);
      assert.ok(isAlive(Number(text)));
    }
    assert.equal(await procman.stop(), 0);
  });

test("the keeper of five printing processes is killed: the next keeper has the same pids, no second copy, and no line is missing", async (context) => {
  const ids = many(5, () => ({})).map(({ id }) => id);
  const processes = ids.map((id) => ({
    id,
    cmd: `echo $$ >> ${id}.starts; exec sh "${PROGRAMS}print-ticks.sh" ${id}`,
    autostart: true,
    logger: { stdout: "logs/{id}.log" },
  }));
  const procman = await startProcman(context, processes);
  const log = (id: string): string => join(procman.folder, `logs/${id}.log`);
  const ticks = (id: string): number =>
    existsSync(log(id)) ? readFileSync(log(id), "utf8").split("\n").length - 1 : 0;
  const moreTicks = (): Promise<unknown> => {
    const from = ids.map(ticks);
    return eventually(() => (ids.every((id, index) => ticks(id) >= (from[index] ?? 0) + 10) ? true : undefined));
  };
  await moreTicks();
  const pids = ids.map((id) => Number(readFileSync(join(procman.folder, `${id}.starts`), "utf8")));
  procman.child.kill("SIGKILL");
  await procman.successor();
  await moreTicks();
  for (const [index, id] of ids.entries()) {
    assert.equal(readFileSync(join(procman.folder, `${id}.starts`), "utf8"), `${pids[index]}\n`, "no second copy");
    assert.ok(isAlive(pids[index] ?? 0));
  }
  await procman.stopHolder();
  for (const pid of pids) assert.ok(!isAlive(pid));
  assert.deepEqual(readdirSync(join(procman.folder, ".procman/procman/run")), [], "nothing is left of the runs");
  for (const id of ids) {
    const lines = readFileSync(log(id), "utf8").trim().split("\n");
    const written = lines.filter((line) => !line.startsWith("[procman: "));
    assert.deepEqual(
      written,
      written.map((_, index) => `${id} ${index + 1}`),
      `${id}: every line once and in order`,
    );
  }
});

test("procman is killed and its state folder removed: the next run finds the processes by their marker, with their output", async (context) => {
  const ids = ["a", "b"];
  const folder = folderWith(context, {
    processes: [
      ...ids.map((id) => ({
        id,
        cmd: `exec sh "${PROGRAMS}print-ticks.sh" ${id}`,
        autostart: true,
        logger: { stdout: "logs/{id}.log" },
      })),
      { id: "silent", cmd: "sleep 1000", autostart: true },
    ],
  });
  const first = new Procman(folder, { args: ["--guarded"] });
  const pids = await Promise.all(
    [...ids, "silent"].map(async (id) => pidIn(await first.line(new RegExp(`^${id} .*started`)))),
  );
  const log = (id: string): readonly string[] =>
    readFileSync(join(folder, `logs/${id}.log`), "utf8")
      .trim()
      .split("\n");
  const more = (id: string, count: number): Promise<unknown> =>
    eventually(() => (existsSync(join(folder, `logs/${id}.log`)) && log(id).length >= count ? true : undefined));
  for (const id of ids) await more(id, 5);
  for (const pid of [first.helper("service"), first.helper("logger"), first.pid]) process.kill(pid, "SIGKILL");
  await first.exit();
  rmSync(join(folder, ".procman"), { recursive: true });
  const next = new Procman(folder);
  for (const [index, id] of [...ids, "silent"].entries())
    await next.line(new RegExp(`^${id} .*already running \\(pid ${pids[index]}\\)`));
  for (const id of ids) await more(id, log(id).length + 10);
  assert.equal(await next.stop(), 0);
  for (const pid of pids) await processExit(pid);
  for (const id of ids) {
    const lines = log(id);
    assert.equal(lines.filter((line) => line.startsWith("[procman: the logger was restarted here")).length, 1);
    const numbers = lines.filter((line) => !line.startsWith("[procman: ")).map((line) => Number(line.split(" ")[1]));
    assert.deepEqual(
      numbers,
      [...numbers].sort((one, other) => one - other),
      "in order",
    );
    assert.equal(new Set(numbers).size, numbers.length, "nothing twice");
  }
});
