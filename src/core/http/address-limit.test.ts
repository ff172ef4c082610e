/** The share of an address in requests without a token. */
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { test } from "node:test";
import { AddressLimit } from "./address-limit.ts";

test("an address that sends more than its share without a token is refused until its bucket has refilled; others are not", () => {
  let now = 0;
  const limit = new AddressLimit(() => now);
  const ask = (remoteAddress?: string): void => limit.admit({ socket: { remoteAddress } } as IncomingMessage);
  for (let count = 0; count < 200; count += 1) ask("10.0.0.1");
  const refused = { code: "too-many-requests", headers: { "retry-after": "1", connection: "close" } };
  assert.throws(() => ask("10.0.0.1"), refused);
  ask("10.0.0.2");
  for (let count = 0; count < 1_000; count += 1) ask(undefined);
  now += 1_000;
  for (let count = 0; count < 100; count += 1) ask("10.0.0.1");
  assert.throws(() => ask("10.0.0.1"), refused);
});
