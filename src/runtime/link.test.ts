/** What the service says to the keeper, and when. */
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { test } from "node:test";
import type { FromKeeper, ToKeeper } from "../contract/keeper-protocol.ts";
import { Link } from "./link.ts";

function rig() {
  const sent: ToKeeper[][] = [];
  const heard: FromKeeper[] = [];
  const channel = Object.assign(new EventEmitter(), {
    connected: true,
    send: (messages: readonly ToKeeper[]): void => void sent.push([...messages]),
  });
  const link = new Link(channel, { message: (message) => heard.push(message), closed: () => undefined });
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

test("at a first start some processes go ahead with their notes; nothing is known yet of those that are not begun", async () => {
  const { link, names } = rig();
  const ids = Array.from({ length: 10 }, (_, index) => `p${index}`);
  for (const id of ids) link.remember(id, { planned: 1 });
  for (const id of ids) {
    link.send({ t: "sync", number: 1 });
    link.remember(id, { status: "starting" });
    link.begun(id);
  }
  const [first = []] = names();
  assert.equal(names().length, 1);
  assert.deepEqual(first, [...Array(8).fill("sync"), ...ids.slice(0, 8).map((id) => `note ${id}`)]);
  await turn();
  assert.deepEqual(names()[1], ["sync", "sync", "note p8", "note p9"]);
});

test("who is begun in another turn begins to count anew", async () => {
  const { link, names } = rig();
  for (let number = 1; number < 8; number++) link.begun(`p${number}`);
  link.send({ t: "pong" });
  await turn();
  link.send({ t: "pong" });
  link.begun("p8");
  assert.deepEqual(names(), [["pong"]]);
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
