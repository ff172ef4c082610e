/** What the service says to the keeper, and when. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import type { FromKeeper, ToKeeper } from "../ipc/keeper-protocol.ts";
import { KeeperChannel } from "./keeper-channel.ts";

function rig(receive: (message: FromKeeper) => void = () => undefined) {
  const sent: ToKeeper[][] = [];
  const received: FromKeeper[] = [];
  const channel = Object.assign(new EventEmitter(), {
    connected: true,
    send: (messages: readonly ToKeeper[]): void => void sent.push([...messages]),
  });
  const link = new KeeperChannel(channel, {
    message: (message) => {
      received.push(message);
      receive(message);
    },
    closed: () => undefined,
  });
  const names = () => sent.map((batch) => batch.map((message) => ("id" in message ? `note ${message.id}` : message.t)));
  return { link, channel, received, names };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("messages of one turn are sent together, the notes last", async () => {
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

test("at a first start processes are sent in groups of eight with their notes, without the notes of later groups", () => {
  const [first, rest, ...others] = startedBy(EMPTY, 10);
  const ids = Array.from({ length: 10 }, (_, index) => `p${index}`);
  assert.deepEqual(first, [...Array(16).fill("spawn"), ...ids.slice(0, 8).map((id) => `note ${id}`)]);
  assert.deepEqual(rest, [...Array(4).fill("spawn"), "note p8", "note p9"]);
  assert.deepEqual(others, []);
});

test("if something ran before, everything is sent together: no command is sent without the notes of its turn", () => {
  assert.equal(startedBy({ ...EMPTY, notes: { old: "{}" } }, 10).length, 1);
});

test("processes that start in a later turn than the snapshot are sent together", async () => {
  const { channel, link, names } = rig();
  channel.emit("message", [EMPTY]);
  for (let number = 1; number <= 10; number += 1) link.send({ t: "spawn", slot: `p${number}`, run: 1 } as ToKeeper);
  await turn();
  assert.deepEqual(names(), [Array(10).fill("spawn")]);
});

test("held messages are handled afterwards, in order; none after the channel was closed", async () => {
  for (const closes of [false, true]) {
    const { link, channel, received } = rig();
    let release = (): void => undefined;
    link.hold(
      new Promise((resolve) => {
        release = resolve;
      }),
    );
    channel.emit("message", [{ t: "ping" }, { t: "renewed" }]);
    channel.emit("message", [{ t: "aside" }]);
    assert.deepEqual(received, []);
    if (closes) link.close();
    release();
    await turn();
    channel.emit("message", [{ t: "ping" }]);
    assert.deepEqual(
      received.map(({ t }) => t),
      closes ? [] : ["ping", "renewed", "aside", "ping"],
    );
  }
});

/** What a channel does while a socket is on its way. */
function socketRig() {
  const channel = Object.assign(new EventEmitter(), { connected: true, send: (): void => undefined });
  const closed = new Promise<string>((resolve) => {
    const link = new KeeperChannel(channel, { message: () => undefined, closed: () => resolve("closed") });
    link.sendSocket({ t: "listening", address: "api 127.0.0.1 9000" }, {});
  });
  return { channel, closed };
}

test("a keeper that ends before it has received a socket is noticed, although Node doesn't report it", async () => {
  const { channel, closed } = socketRig();
  channel.connected = false;
  assert.equal(await closed, "closed");
});

test("once the keeper has received a socket, its channel is not checked any more", () => {
  const { channel } = socketRig();
  const before = channel.listenerCount("message");
  channel.emit("message", [{ t: "synced", number: 1 }]);
  assert.equal(channel.listenerCount("message"), before - 1);
});
