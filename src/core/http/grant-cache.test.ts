import assert from "node:assert/strict";
import { test } from "node:test";
import { GrantCache, type TokenGrant } from "./grant-cache.ts";

const grantOf = (consumer: string): TokenGrant => ({
  claims: { audience: "shop", consumer, scopes: [] },
  secret: new Uint8Array(),
});

test("tokens that are no longer valid leave with those that come, others stay", () => {
  const valid = new Set<string>();
  const cache = new GrantCache(({ claims }) => valid.has(claims.consumer));
  const add = (name: string): void => {
    valid.add(name);
    cache.add(name, grantOf(name));
  };
  for (let number = 0; number < 100; number += 1) add(`page-${number}`);
  // Each token of a command is valid while the next ten are used.
  for (let number = 0; number < 5_000; number += 1) {
    add(`command-${number}`);
    valid.delete(`command-${number - 10}`);
  }
  assert.ok(cache.size >= 110 && cache.size <= 300, String(cache.size));
  for (let number = 0; number < 100; number += 1) assert.ok(cache.get(`page-${number}`), `page-${number}`);
  assert.equal(cache.get("command-4000"), undefined);
});

test("of more valid tokens than it has room for a thousand are known, the latest among them", () => {
  const cache = new GrantCache(() => true);
  for (let number = 0; number < 5_000; number += 1) cache.add(String(number), grantOf(String(number)));
  assert.equal(cache.size, 1_000);
  assert.ok(cache.get("4999"));
});
