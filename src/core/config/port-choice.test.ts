import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import fc from "fast-check";
import { PortReservations } from "../os/port-reservations.ts";
import { portFields } from "./configured-ports.ts";
import { type ChosenPorts, likelyPorts, type PortMachine, type PortScope, reservedPorts } from "./port-choice.ts";

/** Some checkouts of a project on a machine where the ports of `busy` are in use. */
function rig(context: TestContext) {
  const root = mkdtempSync(join(tmpdir(), "procman-choice-"));
  context.after(() => rmSync(root, { recursive: true }));
  return new Machine(root);
}

class Machine {
  readonly root: string;
  readonly busy = new Map<number, string | undefined>();
  readonly machine: PortMachine;

  constructor(root: string) {
    this.root = root;
    this.machine = {
      reservations: new PortReservations(join(root, "state")),
      busy: () => new Set(this.busy.keys()),
      holder: (port) => this.busy.get(port),
    };
  }

  /** `ids`: of processes with "auto". */
  scope(name: string, ids: readonly string[], more: Partial<PortScope> = {}): PortScope {
    const checkout = join(this.root, name);
    mkdirSync(checkout, { recursive: true });
    const wishes = portFields({ processes: ids.map((id) => ({ id, port: "auto" as const })) }, 1);
    const range = { from: 20_000, to: 20_099 };
    return { wishes, fixed: new Set(), range, stateDir: join(checkout, ".procman/shop"), checkout, ...more };
  }

  start(scope: PortScope): ChosenPorts {
    return reservedPorts(scope, undefined, this.machine);
  }

  keptOf({ stateDir }: PortScope): unknown {
    const file = join(stateDir, "ports.json");
    return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
  }
}

test("each process gets a port of the range, the same at each start, and ports.json has it", (context) => {
  const host = rig(context);
  const scope = host.scope("one", ["web", "api"]);
  const { ports, warnings, missing } = host.start(scope);
  assert.deepEqual([warnings, missing], [[], []]);
  assert.deepEqual([...ports.keys()], ["web", "api"]);
  assert.equal(new Set(ports.values()).size, 2);
  for (const port of ports.values()) assert.ok(port >= 20_000 && port <= 20_099);
  assert.deepEqual(host.start(scope).ports, ports);
  assert.deepEqual(host.keptOf(scope), Object.fromEntries(ports));
  rmSync(scope.stateDir, { recursive: true });
  assert.deepEqual(host.start(scope).ports, ports, "also without the state folder, as long as they are free");
});

test("another checkout has other ports, also while the first one doesn't run", (context) => {
  const host = rig(context);
  const range = { from: 20_000, to: 20_003 };
  const one = host.start(host.scope("one", ["web", "api"], { range })).ports;
  const two = host.start(host.scope("two", ["web", "api"], { range })).ports;
  assert.equal(new Set([...one.values(), ...two.values()]).size, 4);
});

test("a port that another program has by now is replaced at a start, and the warning says who has it", (context) => {
  const host = rig(context);
  const scope = host.scope("one", ["web"]);
  const port = host.start(scope).ports.get("web") ?? 0;
  host.busy.set(port, "python3 (pid 12)");
  const { ports, warnings } = host.start(scope);
  const next = ports.get("web") ?? 0;
  assert.notEqual(next, port);
  assert.deepEqual(
    warnings.map(({ path, message }) => [path.join("."), message]),
    [
      [
        "processes.0.port",
        `Found "auto": "web" gets port ${next}, as ${port}, which it had, is in use by python3 (pid 12).`,
      ],
    ],
  );
  host.busy.clear();
  assert.equal(host.start(scope).ports.get("web"), next, "it stays");
  assert.deepEqual(
    host.machine.reservations.all.map((each) => each.port),
    [next],
    "the former one is released",
  );
});

test("a port that a process of this procman has is its own", (context) => {
  const host = rig(context);
  const scope = host.scope("one", ["web"]);
  const { ports } = host.start(scope);
  host.busy.set(ports.get("web") ?? 0, undefined);
  assert.deepEqual(host.start(scope), { ports, warnings: [], missing: [] });
});

test("while procman runs, ports of running processes stay even if another program listens there, and others don't", (context) => {
  const host = rig(context);
  const scope = host.scope("one", ["web", "api"]);
  const { ports } = host.start(scope);
  for (const port of ports.values()) host.busy.set(port, "docker-proxy (pid 7)");
  assert.deepEqual(reservedPorts(scope, "all", host.machine).ports, ports);
  const running = new Set(["web"]);
  const likely = likelyPorts(scope, running, host.machine).ports;
  const { ports: next } = reservedPorts(scope, running, host.machine);
  assert.equal(next.get("web"), ports.get("web"));
  assert.notEqual(next.get("api"), ports.get("api"));
  assert.deepEqual(likely, next, "a plan has said so");
});

test("a process that a reload removes keeps its port until the next start, as the reload may fail", (context) => {
  const host = rig(context);
  const { ports } = host.start(host.scope("one", ["web", "api"]));
  const less = host.scope("one", ["web"]);
  reservedPorts(less, "all", host.machine);
  assert.deepEqual(host.keptOf(less), Object.fromEntries(ports));
  assert.equal(host.machine.reservations.all.length, 2);
  host.start(less);
  assert.deepEqual(host.keptOf(less), { web: ports.get("web") });
  assert.equal(host.machine.reservations.all.length, 1);
});

test("ports that the file names itself are not chosen, nor kept", (context) => {
  const host = rig(context);
  const range = { from: 20_000, to: 20_001 };
  const first = host.start(host.scope("one", ["web"], { range })).ports.get("web") ?? 0;
  const scope = host.scope("one", ["web"], { range, fixed: new Set([first]) });
  assert.equal(host.start(scope).ports.get("web"), first === 20_000 ? 20_001 : 20_000);
});

test("a look changes nothing, and shows what a start would choose", (context) => {
  const host = rig(context);
  const scope = host.scope("one", ["web", "api"]);
  const { ports } = likelyPorts(scope, undefined, host.machine);
  assert.equal(existsSync(scope.stateDir), false);
  assert.deepEqual(host.machine.reservations.all, []);
  assert.deepEqual(host.start(scope).ports, ports);
});

test("when no port is left, the process is named, and nothing is kept", (context) => {
  const host = rig(context);
  const range = { from: 20_000, to: 20_001 };
  host.start(host.scope("other", ["web"], { range }));
  const scope = host.scope("one", ["web", "api"], { range });
  const messages = (chosen: ChosenPorts): readonly string[] => chosen.missing.map(({ message }) => message);
  const expected =
    'Found "auto", but no port from 20000 to 20001 is left for "api": each is in use, or reserved ("procman ports" shows for whom). Give "portRange" more ports.';
  assert.deepEqual(messages(likelyPorts(scope, undefined, host.machine)), [expected]);
  assert.deepEqual(messages(host.start(scope)), [expected]);
  assert.equal(host.keptOf(scope), undefined);
  const more = host.start(host.scope("other", ["web", "api"], { range }));
  assert.deepEqual(more.missing, [], "what the refused start had reserved is free again");
});

test("with a damaged ports.json, the ports are chosen again, and are the same", (context) => {
  const host = rig(context);
  const scope = host.scope("one", ["web"]);
  const { ports } = host.start(scope);
  for (const text of ["", "{", "null", '{"web":"20001"}', '{"web":1.5}', "[20001]"]) {
    writeFileSync(join(scope.stateDir, "ports.json"), text);
    assert.deepEqual(host.start(scope).ports, ports, text);
  }
});

test("without ports.json, a running process keeps the port that is reserved for it", (context) => {
  const host = rig(context);
  const scope = host.scope("one", ["web", "api"]);
  const { ports } = host.start(scope);
  for (const port of ports.values()) host.busy.set(port, undefined);
  rmSync(join(scope.stateDir, "ports.json"));
  assert.deepEqual(reservedPorts(scope, "all", host.machine).ports, ports);
});

test("a copy of a folder with its state gets ports that the original doesn't have", (context) => {
  const host = rig(context);
  const { ports } = host.start(host.scope("one", ["web"]));
  const copy = host.scope("two", ["web"]);
  mkdirSync(copy.stateDir, { recursive: true });
  writeFileSync(join(copy.stateDir, "ports.json"), JSON.stringify(Object.fromEntries(ports)));
  const chosen = host.start(copy);
  assert.notEqual(chosen.ports.get("web"), ports.get("web"));
  assert.match(chosen.warnings[0]?.message ?? "", /as \d+, which it had, is reserved for "web" in .*\/one\.$/);
});

test("if nothing can be written, procman starts with a warning", (context) => {
  const host = rig(context);
  writeFileSync(join(host.root, "file"), "");
  const machine = { ...host.machine, reservations: new PortReservations(join(host.root, "file/ports")) };
  const { ports, warnings } = reservedPorts(host.scope("one", ["web"]), undefined, machine);
  assert.equal(ports.size, 1);
  assert.match(warnings[0]?.message ?? "", /^Found "auto", but ports can't be kept in .* \(not a directory\)/);
});

test("whatever is started, stopped, busy or gone in between, no two checkouts have a port in common, and all keep theirs", (context) => {
  const names = ["a", "b", "c", "d", "e"];
  const ids = ["web", "api", "db"];
  const step = fc.record({
    name: fc.constantFrom(...names),
    ids: fc.subarray(ids, { minLength: 1 }),
    busy: fc.array(fc.integer({ min: 20_000, max: 20_029 }), { maxLength: 5 }),
    isGone: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const host = rig(context);
      const held = new Map<string, ReadonlyMap<string, number>>();
      for (const { name, ids: wished, busy, isGone } of steps) {
        host.busy.clear();
        for (const port of busy) host.busy.set(port, "another");
        const scope = host.scope(name, wished, { range: { from: 20_000, to: 20_029 } });
        const before = held.get(name);
        const { ports, missing } = host.start(scope);
        assert.deepEqual(missing, []);
        held.set(name, ports);
        for (const [id, port] of ports) {
          assert.ok(!host.busy.has(port));
          const had = before?.get(id);
          if (had !== undefined && !host.busy.has(had)) assert.equal(port, had, "it has stayed");
        }
        const all = [...held.values()].flatMap((each) => [...each.values()]);
        assert.equal(new Set(all).size, all.length);
        if (isGone) {
          rmSync(join(host.root, name), { recursive: true });
          held.delete(name);
        }
      }
    }),
    { numRuns: 30 },
  );
});
