import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseTcp, tcpOf } from "./tcp-choice.ts";
import { type Tcp, WRITTEN } from "./tcp-handle.ts";

/** An implementation with one fault. */
const faulty = (fault: Partial<Tcp>): Tcp => {
  const tcp = tcpOf("net");
  return Object.assign(Object.create(tcp) as Tcp, fault);
};

test("TCP handles of Node are used where they pass the self-test", async () => {
  const { tcp, problem } = await chooseTcp(undefined);
  assert.deepEqual([tcp.name, problem], ["binding", undefined]);
});

test("PROCMAN_BALANCER_TCP=net forces node:net", async () => {
  const { tcp, problem } = await chooseTcp("net", () => assert.fail());
  assert.deepEqual([tcp.name, tcp.canMigrate, problem], ["net", false, "PROCMAN_BALANCER_TCP is net"]);
});

test("node:net passes the self-test too", async () => {
  const { problem } = await chooseTcp(undefined, () => tcpOf("net"));
  assert.equal(problem, undefined);
});

test("node:net is used where the handles can't be loaded or fail the self-test, and the cause is given", async () => {
  const denied = (): Tcp => {
    throw new Error("Access to this API has been restricted");
  };
  assert.deepEqual(await chooseTcp(undefined, denied).then(({ tcp, problem }) => [tcp.name, problem]), [
    "net",
    "Access to this API has been restricted",
  ]);
  const refused = (): Tcp => faulty({ connect: (_handle, _address, _port, done) => done(-111) });
  assert.equal((await chooseTcp(undefined, refused)).problem, "its self-test failed: connect gave -111");
  const good = tcpOf("net");
  const garbling = (): Tcp =>
    faulty({ write: (handle, chunk) => (good.write(handle, Buffer.from(chunk).fill("x")) < 0 ? -1 : WRITTEN) });
  assert.match(
    (await chooseTcp(undefined, garbling)).problem ?? "",
    /^its self-test failed: read gave "xxxxxxx" instead of "procman"$/,
  );
});
