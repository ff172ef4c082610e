/** Clients that wait for a backend. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { PendingClient, PendingQueue } from "./pending-queue.ts";
import type { Tcp, TcpHandle, TcpOwner } from "./tcp-handle.ts";

const WAITING = 4_000;

/** A queue for one backend with places, and what it does with its clients. */
function rig(places: number) {
  const served: string[] = [];
  const closed: string[] = [];
  const owners = new Map<TcpHandle, TcpOwner>();
  let looks = 0;
  const look = (status: number): number => {
    looks += 1;
    return status;
  };
  const room = { places };
  const setOwner = (handle: TcpHandle, owner: TcpOwner) => owners.set(handle, owner);
  const came: number[] = [];
  const queue: PendingQueue = new PendingQueue({ setOwner } as unknown as Tcp, {
    hasRoom: () => room.places > 0,
    place: ({ address }) => {
      room.places -= 1;
      served.push(address);
    },
    came: () => void came.push(queue.waking("connect")),
  });
  const gone = new Set<string>();
  const add = (address: string, counts = true): TcpHandle => {
    const handle = {
      useUserBuffer: () => undefined,
      readStart: () => undefined,
      readStop: () => look(0),
    } as unknown as TcpHandle;
    handle.getpeername = () => look(gone.has(address) ? -107 : 0);
    handle.close = () => closed.push(address);
    handle.reset = () => closed.push(`${address}, by a reset`);
    queue.add(new PendingClient(handle, { address }, counts));
    return handle;
  };
  return { room, queue, served, closed, gone, owners, came, add, looks: () => looks };
}

test("each free place goes to the client that has waited longest, and the others are not looked at", () => {
  const rigged = rig(0);
  for (let index = 0; index < WAITING; index++) rigged.add(`client ${index}`);
  for (let index = 0; index < WAITING; index++) {
    rigged.room.places = 1;
    rigged.queue.admit();
  }
  assert.deepEqual(
    rigged.served,
    Array.from({ length: WAITING }, (_, index) => `client ${index}`),
  );
  assert.ok(rigged.looks() <= 2 * WAITING, `${rigged.looks()} looks at ${WAITING} clients`);
});

test("a client that has gone gets no place, and gives up the one that it has in the queue", () => {
  const rigged = rig(0);
  const [first, second] = ["first", "second", "third"].map((address) => rigged.add(address));
  for (const handle of [first, second]) rigged.owners.get(handle as TcpHandle)?.onRead(1);
  rigged.gone.add("first");
  rigged.room.places = 1;
  rigged.queue.admit();
  assert.deepEqual([rigged.served, rigged.closed], [["second"], ["first"]]);
  const [fourth] = ["fourth", "fifth"].map((address) => rigged.add(address));
  rigged.owners.get(fourth as TcpHandle)?.onRead(1);
  rigged.gone.add("fourth");
  rigged.queue.rejectLate(performance.now());
  assert.deepEqual([rigged.closed, rigged.queue.size], [["first", "fourth"], 2]);
});

test("a client that comes back at once, as no file descriptor was left, waits for the next place", () => {
  const clients: PendingClient[] = [];
  const queue: PendingQueue = new PendingQueue({ setOwner: () => undefined } as unknown as Tcp, {
    hasRoom: () => true,
    place: (client) => {
      clients.push(client);
      queue.add(client);
    },
    came: () => undefined,
  });
  const handle = {
    useUserBuffer: () => undefined,
    readStart: () => undefined,
    readStop: () => undefined,
    getpeername: () => 0,
  };
  queue.add(new PendingClient(handle as unknown as TcpHandle, { address: "a" }));
  queue.admit();
  assert.deepEqual([clients.length, queue.size], [1, 1]);
});

test("each client that counts wakes what sleeps, or those that have sent their first bytes", () => {
  const { queue, add, owners, came } = rig(0);
  add("health check", false);
  const first = add("first");
  add("second");
  assert.deepEqual([queue.waking("connect"), queue.waking("data"), came], [2, 0, [0, 1, 2]]);
  owners.get(first)?.onRead(5);
  assert.deepEqual([queue.waking("data"), came.length], [1, 4]);
});

test("clients wait as long as the front says", async () => {
  const { queue, add, closed } = rig(0);
  queue.limitMs = 50;
  add("first");
  queue.rejectLate(performance.now());
  assert.deepEqual(closed, []);
  queue.rejectLate(performance.now() + 51);
  assert.deepEqual([closed, queue.rejected], [["first, by a reset"], 1]);
});
