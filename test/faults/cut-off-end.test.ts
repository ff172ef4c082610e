/** An end that is cut off by SIGKILL: the next `procman run` starts what should run. A part that is killed alone lets the end continue. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import type { ProcessRecord } from "../../src/core/contract/records.ts";
import { homeOf, keeperIn, procman } from "../support/cli.ts";
import { childrenOf, nameOf } from "../support/proc-files.ts";
import { eventually, isAlive, Procman, processExit } from "../support/procman-process.ts";

/** On SIGTERM it says so, and ends once it may. */
const SLOW =
  "trap 'echo > told; while [ ! -e may-end ]; do sleep 0.05; done; exit 0' TERM; while :; do sleep 0.05; done";
const FOREVER = { cmd: "exec sleep 1000", autostart: true };

const PROCESSES = [
  { ...FOREVER, id: "quick" },
  { ...FOREVER, id: "slow", cmd: SLOW, terminateTimeout: 60 },
  { ...FOREVER, id: "base" },
  { ...FOREVER, id: "above", dependsOn: ["base"], cmd: SLOW.replaceAll("told", "told-above"), terminateTimeout: 60 },
  { ...FOREVER, id: "stopped" },
  { ...FOREVER, id: "blocked" },
  { ...FOREVER, id: "disabled" },
  { id: "by-hand", cmd: "exec sleep 1000" },
];

type Ending = {
  readonly folder: string;
  readonly state: string;
  readonly first: Procman;
  readonly records: () => Promise<ReadonlyMap<string, ProcessRecord>>;
};

/** procman is ending, and two of its processes take their time. */
async function ending(
  context: TestContext,
  args: readonly string[],
  end: (keeper: number, folder: string) => unknown,
): Promise<Ending> {
  const { folder, state } = homeOf(context, PROCESSES);
  const first = new Procman(folder, { args });
  await first.line(/above +\| started/);
  for (const words of [
    ["start", "by-hand"],
    ["stop", "stopped"],
    ["block", "blocked"],
    ["disable", "disabled"],
    ["stop", "disabled"],
  ])
    assert.equal((await procman(folder, words)).code, 0, words.join(" "));
  await end(keeperIn(state), folder);
  await eventually(() =>
    existsSync(join(folder, "told")) && existsSync(join(folder, "told-above")) ? true : undefined,
  );
  const records = async (): Promise<ReadonlyMap<string, ProcessRecord>> => {
    const { out, err } = await procman(folder, ["status", "--json"]);
    assert.ok(out.startsWith("["), err);
    return new Map((JSON.parse(out) as readonly ProcessRecord[]).map((record) => [record.id, record]));
  };
  await eventually(() =>
    childrenOf(keeperIn(state)).filter((pid) => nameOf(pid) === "sleep").length === 1 ? true : undefined,
  );
  return { folder, state, first, records };
}

/** procman's own processes, and with `processes` all. */
async function killAll(state: string, { processes = false, isGuarded = false } = {}): Promise<void> {
  const keeper = keeperIn(state);
  const children = isGuarded
    ? []
    : childrenOf(keeper).filter((pid) => processes || nameOf(pid).startsWith("procman: "));
  // Stopped first: none starts a keeper.
  for (const signal of ["SIGSTOP", "SIGKILL"] as const)
    for (const pid of [keeper, ...children]) process.kill(pid, signal);
  for (const pid of [keeper, ...children]) await processExit(pid);
}

const TERM = (keeper: number): unknown => process.kill(keeper, "SIGTERM");
const WAYS = [
  { what: "procman's parts, after SIGTERM", end: TERM, kill: {}, args: [] },
  { what: "everything, after SIGTERM", end: TERM, kill: { processes: true }, args: [] },
  {
    what: "procman's parts, after procman terminate",
    end: (_: number, folder: string) => procman(folder, ["terminate", "--no-wait"]),
    kill: {},
    args: [],
  },
  { what: "the keeper of run --guarded, after SIGTERM", end: TERM, kill: { isGuarded: true }, args: ["--guarded"] },
] as const;

for (const { what, end, kill, args } of WAYS)
  test(`killed while it ends: ${what}. The next run starts what starts with procman`, async (context) => {
    const { folder, state, first, records } = await ending(context, args, end);
    await killAll(state, kill);
    const next = new Procman(folder, { args });
    await next.line(/the end before this start was cut off/);
    await next.line(/quick +\| started/);
    writeFileSync(join(folder, "may-end"), "");
    for (const id of ["slow", "above", "base", "stopped", "blocked"])
      await next.line(new RegExp(`^${id} +\\| started`));
    const found = await records();
    const isUp = ({ id, status, pid = 0 }: ProcessRecord): boolean => {
      assert.equal(status === "running", isAlive(pid), id);
      return status === "running";
    };
    assert.deepEqual(
      [...found.values()]
        .filter((record) => !isUp(record))
        .map(({ id }) => id)
        .sort(),
      ["by-hand", "disabled"],
    );
    assert.equal(found.get("blocked")?.blocked, false);
    assert.equal(next.lines.filter((line) => / \| started/.test(line)).length, 6);
    assert.equal((await procman(folder, ["terminate"])).code, 0);
    await first.stopHolder();
  });

test("killed while it ends: the next run has its own profile, and the instances of the file", async (context) => {
  const processes = [
    { ...FOREVER, id: "slow", cmd: SLOW, terminateTimeout: 60 },
    { ...FOREVER, id: "web", cluster: { instances: 1 } },
  ];
  const profiles = { other: { processes: [{ id: "extra", ...FOREVER }] } };
  const { folder, state } = homeOf(context, processes, { profiles });
  const first = new Procman(folder, { args: ["--profile", "other"] });
  await first.line(/slow +\| started/);
  for (const words of [
    ["reload", "--no-profile"],
    ["scale", "web", "2"],
  ])
    assert.equal((await procman(folder, words)).code, 0, words.join(" "));
  TERM(keeperIn(state));
  await eventually(() => (existsSync(join(folder, "told")) ? true : undefined));
  await killAll(state);
  const next = new Procman(folder, { args: ["--profile", "other"] });
  await next.line(/the end before this start was cut off/);
  writeFileSync(join(folder, "may-end"), "");
  await next.line(/^slow +\| started/);
  const { out } = await procman(folder, ["status", "--json"]);
  const ids = (JSON.parse(out) as readonly ProcessRecord[]).flatMap(({ id, instances = [] }) => [
    id,
    ...instances.map((each) => each.id),
  ]);
  assert.deepEqual(ids.sort(), ["extra", "slow", "web", "web-1"]);
  assert.equal((await procman(folder, ["terminate"])).code, 0);
  await first.stopHolder();
});

for (const parts of [["keeper"], ["service"], ["keeper", "service"]])
  test(`killed while it ends: ${parts.join(" and ")} alone. The end continues`, async (context) => {
    const { folder, state, first } = await ending(context, [], TERM);
    const keeper = keeperIn(state);
    const children = childrenOf(keeper);
    const pids = [keeper, ...children].filter((pid) =>
      parts.some((part) => nameOf(pid) === `procman: ${part}`.slice(0, 15)),
    );
    assert.equal(pids.length, parts.length);
    for (const pid of pids) process.kill(pid, "SIGKILL");
    for (const pid of pids) await processExit(pid);
    writeFileSync(join(folder, "may-end"), "");
    for (const pid of children) await processExit(pid);
    await eventually(() => (readdirSync(state).some((name) => /^lock\./.test(name)) ? undefined : true));
    await first.stopHolder();
  });
