/** What the service says to the keeper, and when. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import type { FromKeeper, ToKeeper } from "../ipc/keeper-protocol.ts";
import { KeeperChannel } from "./keeper-channel.ts";

function rig(receive: (message: FromKeeper) => void = () => undefined) {
  const sent: ToKeeper[][] = [];
  const heard: FromKeeper[] = [];
  const channel = Object.assign(new EventEmitter(), {
    connected: true,
    send: (messages: readonly ToKeeper[]): void => void sent.push([...messages]),
  });
  const link = new KeeperChannel(channel, {
    message: (message) => {
      heard.push(message);
      receive(message);
    },
    closed: () => undefined,
  });
  const names = () => sent.map((batch) => batch.map((message) => ("id" in message ? `note ${message.id}` : message.t)));
  return { link, channel, heard, names };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("what one turn says goes as one, the notes last", async () => {
  const { link, names } = rig();
  link.remember("a", { x: 1 });
  link.send({ t: "pong" });
  assert.deepEqual(names(), []);
  await turn();
  assert.deepEqual(names(), [["pong", "note a"]]);
});

const EMPTY = { t: "snapshot", lineage: "", running: [], ended: [], notes: {} };

/** `count` processes, started in the turn in which this snapshot comes. */
function startedBy(snapshot: object, count: number) {
  const { channel, link, names } = rig((message) => {
    if (message.t !== "snapshot") return;
    const ids = Array.from({ length: count }, (_, index) => `p${index}`);
    for (const id of ids) link.remember(id, { planned: 1 });
    for (const id of ids)
      for (const slot of [id, `${id}:1`]) {
        link.send({ t: "spawn", slot, run: 1 } as ToKeeper);
        link.remember(id, { status: "starting" });
      }
  });
  channel.emit("message", [snapshot]);
  return names();
}

test("at a first start processes go ahead by eight with their notes; nothing is known yet of those that are not started", () => {
  const [first, rest, ...others] = startedBy(EMPTY, 10);
  const ids = Array.from({ length: 10 }, (_, index) => `p${index}`);
  assert.deepEqual(first, [...Array(16).fill("spawn"), ...ids.slice(0, 8).map((id) => `note ${id}`)]);
  assert.deepEqual(rest, [...Array(4).fill("spawn"), "note p8", "note p9"]);
  assert.deepEqual(others, []);
});

test("where something ran before, all goes together: a command never goes without the notes of its turn", () => {
  assert.equal(startedBy({ ...EMPTY, notes: { old: "{}" } }, 10).length, 1);
});

test("what is held is heard afterwards, in order; nothing of it once the link is closed", async () => {
  for (const closes of [false, true]) {
    const { link, channel, heard } = rig();
    let release = (): void => undefined;
    link.hold(
      new Promise((resolve) => {
        release = resolve;
      }),
    );
    channel.emit("message", [{ t: "ping" }, { t: "renewed" }]);
    channel.emit("message", [{ t: "aside" }]);
    assert.deepEqual(heard, []);
    if (closes) link.close();
    release();
    await turn();
    channel.emit("message", [{ t: "ping" }]);
    assert.deepEqual(
      heard.map(({ t }) => t),
      closes ? [] : ["ping", "renewed", "aside", "ping"],
    );
  }
});
