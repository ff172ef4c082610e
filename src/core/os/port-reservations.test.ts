import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { PortReservations, type Reservation } from "./port-reservations.ts";

function rig(context: TestContext) {
  const root = mkdtempSync(join(tmpdir(), "procman-ports-"));
  context.after(() => rmSync(root, { recursive: true }));
  const checkout = (name: string, process = "web"): Reservation => {
    const stateDir = join(root, name, ".procman/shop");
    mkdirSync(stateDir, { recursive: true });
    return { process, stateDir, checkout: join(root, name) };
  };
  return { root, checkout, reservations: new PortReservations(join(root, "state/ports")) };
}

test("a port that one process has reserved belongs to no other process, checkout or folder until it is released", (context) => {
  const { reservations, checkout } = rig(context);
  const one = checkout("one");
  assert.equal(reservations.reserve(20_000, one), true);
  assert.equal(reservations.reserve(20_000, one), true, "it is its own");
  for (const other of [checkout("one", "api"), checkout("two")]) {
    assert.equal(reservations.isFor(20_000, other), false);
    assert.equal(reservations.reserve(20_000, other), false);
  }
  reservations.release([20_000], checkout("two").stateDir);
  assert.deepEqual(reservations.all, [{ port: 20_000, found: one }], "it is not that of two");
  reservations.release([20_000, 20_001], one.stateDir);
  assert.equal(reservations.reserve(20_000, checkout("two")), true);
});

test("the port of a checkout or a state folder that is gone can be reserved again, and isn't listed", (context) => {
  const { root, reservations, checkout } = rig(context);
  const gone = checkout("gone");
  const cleaned = checkout("cleaned");
  reservations.reserve(20_000, gone);
  reservations.reserve(20_001, cleaned);
  rmSync(join(root, "gone"), { recursive: true });
  rmSync(cleaned.stateDir, { recursive: true });
  assert.deepEqual(reservations.all, []);
  const next = checkout("next");
  for (const port of [20_000, 20_001]) {
    assert.equal(reservations.isFor(port, next), true);
    assert.equal(reservations.reserve(port, next), true);
    assert.deepEqual(reservations.of(port), next);
  }
});

test("a damaged file keeps its port from being reserved, whatever is in it", (context) => {
  const { reservations, checkout } = rig(context);
  const own = checkout("one");
  reservations.reserve(20_000, own);
  for (const text of ["", "{", "[]", "7", '{"process":"web"}', `"${"x".repeat(100_000)}"`]) {
    writeFileSync(join(reservations.folder, "20001"), text);
    assert.equal(reservations.of(20_001), "damaged", text.slice(0, 20));
    assert.equal(reservations.reserve(20_001, own), false);
  }
  assert.deepEqual(
    reservations.all.map(({ port, found }) => [port, found === "damaged"]),
    [
      [20_000, false],
      [20_001, true],
    ],
  );
});

test("files of checkouts that are gone are removed when there are many", (context) => {
  const { root, checkout, reservations } = rig(context);
  for (let port = 20_000; port < 20_300; port++) reservations.reserve(port, checkout("gone"));
  const own = checkout("one");
  reservations.reserve(20_300, own);
  rmSync(join(root, "gone"), { recursive: true });
  new PortReservations(reservations.folder).reserve(20_301, own);
  assert.deepEqual(readdirSync(reservations.folder).sort(), ["20300", "20301"]);
});

test("of processes that reserve the ports of a gone checkout at once, each port goes to one", async (context) => {
  const { root, checkout, reservations } = rig(context);
  const ports = Array.from({ length: 40 }, (_, index) => 20_000 + index);
  for (const port of ports) reservations.reserve(port, checkout("gone"));
  rmSync(join(root, "gone"), { recursive: true });
  const owners = ["a", "b", "c", "d"].map((name) => checkout(name));
  const module = JSON.stringify(new URL("./port-reservations.ts", import.meta.url).href);
  const contenders = owners.map((own) => {
    const script = `import { PortReservations } from ${module};
      const reservations = new PortReservations(${JSON.stringify(reservations.folder)});
      console.log("ready");
      process.stdin.once("data", () => {
        const got = ${JSON.stringify(ports)}.filter((port) => reservations.reserve(port, ${JSON.stringify(own)}));
        console.log(JSON.stringify(got));
        process.stdin.destroy();
      });`;
    return spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
      stdio: ["pipe", "pipe", "inherit"],
    });
  });
  const said = (): Promise<readonly string[]> =>
    Promise.all(contenders.map(async ({ stdout }) => String((await once(stdout, "data"))[0])));
  await said();
  const answers = said();
  for (const { stdin } of contenders) stdin.write("go");
  const got = (await answers).map((text) => JSON.parse(text) as readonly number[]);
  assert.deepEqual(
    got.flat().sort((one, other) => one - other),
    ports,
    "each port once",
  );
  for (const [index, own] of owners.entries())
    for (const port of got[index] ?? []) assert.deepEqual(reservations.of(port), own);
});
