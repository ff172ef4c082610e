/** Rollbacks of a service that reads real files; its keeper is the test's. */
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { eventually, inTime } from "../../../../test/support/procman-process.ts";
import { exited, folder, spawned, startService } from "../../../../test/support/service-rig.ts";
import type { RollbackOptions } from "../../contract/control.ts";
import { isChange } from "../../contract/plan.ts";
import { HistoryStore } from "../../history/history-store.ts";
import { shownHistory } from "../../history/shown-history.ts";
import { configSource, withStateDir } from "../config/config-source.ts";

type Files = Readonly<Record<string, string>>;

const CALLER = { consumer: "cli" } as const;

/** A service in a folder with these files, of which `procman.jsonc` is the main one. */
function serving(context: TestContext, place: string, files: Files) {
  const write = (next: Files): void => {
    rmSync(join(place, "conf.d"), { recursive: true, force: true });
    mkdirSync(join(place, "conf.d"), { recursive: true });
    for (const [name, text] of Object.entries(next)) writeFileSync(join(place, name), text);
  };
  write(files);
  const path = join(place, "procman.jsonc");
  const read = configSource({ config: path, console: false, detached: false, processes: [], exclude: [] } as never);
  const state = join(place, "state");
  mkdirSync(state, { recursive: true });
  const source: typeof read = (...args) => withStateDir(read(...args), state);
  const rig = startService(context, source(), undefined, { source, steadyMs: 20 });
  const store = new HistoryStore(state);
  const history = () => shownHistory(store);
  const reload = (profile?: string | null) =>
    rig.answered(rig.service.control(CALLER).reload(profile === undefined ? {} : { profile }));
  const rollback = (to?: string, options: RollbackOptions = {}) =>
    rig.answered(rig.service.control(CALLER).rollback(to, options));
  const settled = (): Promise<true> =>
    eventually(() => {
      rig.tellSynced();
      return (history()[0] !== undefined && history().every(({ result }) => result !== "running")) || undefined;
    });
  const textOf = (name: string): string => readFileSync(join(place, name), "utf8");
  return { ...rig, path, state, write, history, reload, rollback, settled, textOf };
}

const config = (cmd: string, more: object = {}): string =>
  `// the program\n${JSON.stringify({ name: "test", ...more, processes: [{ id: "web", cmd, autostart: true }] })}\n`;

test("the text of an entry is put back and applied, with its profile; the text of before stays beside it", async (context) => {
  const place = folder();
  const profiles = { profiles: { production: { processes: [{ id: "web", nice: 5 }] } } };
  const rig = serving(context, place, { "procman.jsonc": config("sleep 1", profiles) });
  await rig.settled();
  await rig.reload("production");
  rig.write({ "procman.jsonc": config("sleep 2") });
  await rig.reload(null);
  const { rollbackTo, files, processes, profile, remarks } = await rig.rollback("2");
  assert.deepEqual([rollbackTo, profile, remarks], [2, "production", []]);
  assert.deepEqual(
    processes.map(({ process, fields }) => [process, fields.includes("cmd")]),
    [["web", true]],
  );
  assert.deepEqual(files, [{ file: rig.path, change: "changed", copy: `${rig.path}.before-rollback` }]);
  assert.deepEqual(
    [rig.textOf("procman.jsonc"), rig.textOf("procman.jsonc.before-rollback")],
    [config("sleep 1", profiles), config("sleep 2")],
  );
  await rig.settled();
  const [newest] = rig.history();
  assert.deepEqual(
    [newest?.why, newest?.rollbackTo, newest?.profile],
    ['rollback to 2, asked by cli; with the profile "production"', 2, "production"],
  );
  assert.equal(rig.service.config.profile, "production");
});

test("without an entry: the file back to what is in force, then the one before it", async (context) => {
  const rig = serving(context, folder(), { "procman.jsonc": config("sleep 1") });
  await rig.settled();
  await assert.rejects(rig.rollback(), { code: "history-unknown", message: /a configuration before the present one/ });
  rig.write({ "procman.jsonc": config("sleep 2") });
  await rig.reload();
  await rig.settled();
  rig.write({ "procman.jsonc": "{ broken" });
  const first = await rig.rollback();
  assert.deepEqual(
    [first.rollbackTo, first.processes.filter(isChange), rig.textOf("procman.jsonc")],
    [2, [], config("sleep 2")],
  );
  assert.equal(rig.textOf("procman.jsonc.before-rollback"), "{ broken");
  assert.deepEqual([(await rig.rollback()).rollbackTo, rig.textOf("procman.jsonc")], [1, config("sleep 1")]);
  await rig.settled();
  assert.equal((await rig.rollback()).rollbackTo, 2, "and forth again");
});

test("a text that this version doesn't take is refused, and the files stay as they are", async (context) => {
  const rig = serving(context, folder(), { "procman.jsonc": config("sleep 1") });
  await rig.settled();
  const store = new HistoryStore(rig.state);
  const entry = { time: new Date(0).toISOString(), result: "applied", why: "", version: "0.1", host: "a" } as const;
  store.add(entry, [{ file: rig.path, text: config("sleep 9", { fieldOfThen: true }) }]);
  for (const dryRun of [true, false])
    await assert.rejects(rig.rollback("2", { dryRun }), {
      code: "configuration-invalid",
      message: /unknown key "fieldOfThen"/,
    });
  assert.equal(rig.textOf("procman.jsonc"), config("sleep 1"));
  assert.deepEqual(rig.service.reloads.plan().processes.filter(isChange), []);
  for (const [name, code] of [
    ["7", "history-unknown"],
    ["x", "history-unknown"],
  ] as const)
    await assert.rejects(rig.rollback(name), { code });
  writeFileSync(join(rig.state, "history/3.json"), "{");
  await assert.rejects(rig.rollback("3"), { code: "history-damaged" });
});

test("an entry of another machine needs force", async (context) => {
  const rig = serving(context, folder(), { "procman.jsonc": config("sleep 1") });
  await rig.settled();
  const [own] = rig.history();
  const entry = { time: new Date(0).toISOString(), result: "applied", why: "", version: "1", host: "web9" } as const;
  new HistoryStore(rig.state).add({ ...entry, machine: "another" }, [{ file: rig.path, text: config("sleep 2") }]);
  // Where machines have no id, as in containers, all entries count as own.
  if (rig.history()[0]?.isForeign !== true) return assert.equal(own?.isForeign, undefined);
  await assert.rejects(rig.rollback("2"), {
    code: "rollback-refused",
    message: /another machine \(web9\); .*--force$/,
  });
  assert.equal((await rig.rollback("2", { force: true })).rollbackTo, 2);
});

test("if an instance doesn't come up, the configuration is taken back, and the files are as before", async (context) => {
  const cluster = (cmd: string): string =>
    JSON.stringify({ name: "test", processes: [{ id: "web", cmd, autostart: true, cluster: { instances: 2 } }] });
  const rig = serving(context, folder(), { "procman.jsonc": cluster("exit 3") });
  await rig.settled();
  rig.tell(spawned("web-1"), spawned("web-2"));
  rig.write({ "procman.jsonc": cluster("sleep 1000") });
  void rig.reload();
  const again = async (id: string, run: number): Promise<void> => {
    await eventually(() => rig.channel.requests("signal").includes(`signal ${id} ${run}`) || undefined);
    rig.tell(exited(id, run));
    await eventually(() => rig.channel.requests("spawn").includes(`spawn ${id} ${run + 1}`) || undefined);
    rig.tell(spawned(id, run + 1));
  };
  for (const id of ["web-1", "web-2"]) await again(id, 1);
  await rig.settled();
  const refused = assert.rejects(rig.rollback("1", { waitSeconds: 20 }), {
    code: "reload-failed",
    message: /"web-1" did not come up/,
  });
  await again("web-1", 2);
  assert.equal(rig.textOf("procman.jsonc"), cluster("exit 3"));
  // As --watch-config does, which sees that the files were replaced.
  void rig.service.reloads.reloadWhenFree("procman.jsonc has changed");
  // Its policy restarts it, the way back once more.
  rig.tell(exited("web-1", 3, 3));
  await eventually(() => rig.channel.requests("spawn").includes("spawn web-1 4") || undefined);
  rig.tell(spawned("web-1", 4));
  await again("web-1", 4);
  await inTime(refused, { what: "the refusal" });
  assert.equal(rig.textOf("procman.jsonc"), cluster("sleep 1000"));
  await rig.settled();
  assert.deepEqual(
    rig.history().map(({ result }) => result),
    ["rolled-back", "applied", "applied"],
    "a reload that was queued meanwhile reads the files that were put back",
  );
  assert.match(rig.history()[0]?.problem ?? "", /did not come up/);
});

const ids = ["a", "b", "c"] as const;

/** Random files: processes in the main one and in two that it may include by name or by pattern, and a profile. */
const files = fc
  .record({
    where: fc.record({ a: fc.nat(3), b: fc.nat(3), c: fc.nat(3) }),
    cmd: fc.record({ a: fc.nat(3), b: fc.nat(3), c: fc.nat(3) }),
    pattern: fc.constantFrom("conf.d/*.jsonc", "conf.d/*"),
    comment: fc.nat(2),
    profile: fc.constantFrom(undefined, "production"),
  })
  .map(({ where, cmd, pattern, comment, profile }) => {
    const process = (id: (typeof ids)[number]): object => ({ id, cmd: `sleep ${cmd[id]}000`, autostart: true });
    const inFile = (place: number): readonly object[] => ids.filter((id) => where[id] === place).map(process);
    const main = {
      name: "test",
      include: [pattern],
      profiles: { production: { env: { MODE: "production" } } },
      processes: [{ id: "main", cmd: "sleep 1" }, ...inFile(0)],
    };
    const included = [1, 2].flatMap((place) => {
      const processes = inFile(place);
      return processes.length === 0 ? [] : [[`conf.d/${place}.jsonc`, JSON.stringify({ processes })] as const];
    });
    return {
      profile,
      files: {
        "procman.jsonc": `// version ${comment}\n${JSON.stringify(main)}`,
        ...Object.fromEntries(included),
      } as Files,
    };
  });

test("property: after N random edits, a rollback to each gives its files and an empty plan", async (context) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(files, { minLength: 2, maxLength: 5 }),
      fc.infiniteStream(fc.nat(99)),
      async (edits, picks) => {
        const [first, ...others] = edits;
        const rig = serving(context, folder(), first?.files ?? {});
        const kept = new Map<number, { readonly files: Files; readonly processes: string }>();
        const keep = async (state: Files): Promise<void> => {
          await rig.settled();
          const [newest] = rig.history();
          kept.set(newest?.number ?? 0, { files: state, processes: JSON.stringify(rig.service.config.processes) });
        };
        await keep(first?.files ?? {});
        for (const edit of others) {
          rig.write(edit.files);
          await rig.reload(edit.profile ?? null);
          await keep(edit.files);
        }
        for (let step = 0; step < 4; step += 1) {
          const numbers = [...kept.keys()];
          const to = numbers[picks.next().value % numbers.length] ?? 0;
          const dry = await rig.rollback(String(to), { dryRun: true });
          const { warnings: _, ...done } = await rig.rollback(String(to));
          assert.deepEqual(dry, { ...done, warnings: dry.warnings }, "a dry run tells what is done then");
          await rig.settled();
          const wanted = kept.get(to);
          for (const [name, text] of Object.entries(wanted?.files ?? {})) assert.equal(rig.textOf(name), text, name);
          assert.equal(JSON.stringify(rig.service.config.processes), wanted?.processes);
          const plan = await rig.answered(rig.service.control(CALLER).plan());
          assert.deepEqual([plan.processes.filter(isChange), plan.settings], [[], []]);
          const [newest] = rig.history();
          kept.set(newest?.number ?? 0, wanted ?? { files: {}, processes: "" });
        }
        await inTime(rig.service.retire(), { what: "the end of the service" });
      },
    ),
    { numRuns: 15 },
  );
});
