import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeLog, specsOf } from "../../../../test/support/service-fakes.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { ToKeeper } from "../../ipc/keeper-protocol.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import { ProcessBus, type ReportedTransition } from "../process-bus.ts";
import type { KeeperLink } from "../services.ts";
import { SharedSockets } from "./shared-sockets.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A cluster of two that share a port, a process that shares nothing, and the messages to the keeper. */
function rig() {
  const statuses = new Map([
    ["web-1", "idle"],
    ["web-2", "idle"],
    ["job", "running"],
  ]);
  const share = { hostname: "127.0.0.1", port: 80 };
  const processes = ["web-1", "web-2", "job"].map((id) => ({ id, ...(id === "job" ? {} : { share }) }) as ProcessSpec);
  const sent: (readonly number[])[] = [];
  const bus = new ProcessBus((problem) => assert.fail(problem));
  const link = {
    send: (message: ToKeeper) => message.t === "sockets" && sent.push(message.wanted.map(({ port }) => port)),
  };
  const supervisor = {
    get processes() {
      return [...statuses].map(([id, status]) => ({
        id,
        states: [{ status: status === "dormant" ? "idle" : status }],
        isDormant: status === "dormant",
      }));
    },
  } as unknown as Supervisor;
  const services = { bus, log: new FakeLog(), specs: specsOf(processes), supervisor };
  const sockets = new SharedSockets({ ...services, link: link as unknown as KeeperLink }, undefined);
  const set = (id: string, status: string): void => {
    statuses.set(id, status);
    const spec = processes.find((each) => each.id === id);
    bus.transitions.publish({ id, spec } as ReportedTransition);
  };
  return { sockets, sent, set };
}

test("a shared socket is wanted while any of its instances is not idle, once for all of them", async () => {
  const { sent, set } = rig();
  set("web-1", "running");
  set("web-2", "backoff");
  await turn();
  set("web-1", "idle");
  await turn();
  assert.deepEqual(sent, [[80]]);
  set("web-2", "idle");
  await turn();
  assert.deepEqual(sent, [[80], []]);
});

test("a shared socket is wanted while a client would wake its instances", async () => {
  const { sent, set } = rig();
  set("web-1", "dormant");
  await turn();
  set("web-1", "idle");
  await turn();
  assert.deepEqual(sent, [[80], []]);
});

test("a stop that is followed by a start in the same turn closes nothing", async () => {
  const { sent, set } = rig();
  set("web-1", "running");
  await turn();
  set("web-1", "idle");
  set("web-1", "starting");
  await turn();
  assert.deepEqual(sent, [[80]]);
});

test("a new service sends the wanted sockets, even if there are none: the previous one may have been killed before it did", async () => {
  const { sockets, sent } = rig();
  sockets.resume();
  sockets.apply();
  await turn();
  assert.deepEqual(sent, [[]]);
});

test("at the shutdown the port is closed before the instances are stopped; a retired service sends nothing", async () => {
  const { sockets, sent, set } = rig();
  set("web-1", "running");
  await turn();
  sockets.end();
  assert.deepEqual(sent, [[80], []]);
  sockets.apply();
  await turn();
  sockets.retire();
  assert.deepEqual(sent, [[80], []]);
});
