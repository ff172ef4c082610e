import assert from "node:assert/strict";
import { test } from "node:test";
import { AddressList, addressRange } from "./address-list.ts";

test("addresses and networks are told from other texts", () => {
  for (const text of ["10.0.0.5", "10.1.0.0/16", "0.0.0.0/0", "::1", "fd00::/8"]) assert.ok(addressRange(text), text);
  for (const text of [
    "",
    "web",
    "10.0.0",
    "10.0.0.5/33",
    "10.0.0.5/",
    "10.0.0.5/1/2",
    "::1/129",
    "::1/-1",
    "1.2.3.4/x",
  ])
    assert.equal(addressRange(text), undefined, text);
});

test("a list has the addresses of its networks, also those that a socket for IPv6 shows", () => {
  const list = new AddressList(["10.0.0.5", "10.1.0.0/16", "fd00::/8", "neither"]);
  for (const address of ["10.0.0.5", "10.1.255.255", "::ffff:10.1.2.3", "fd12::1"])
    assert.ok(list.has(address), address);
  for (const address of ["10.0.0.6", "10.2.0.0", "::ffff:10.0.0.6", "fe80::1", ""])
    assert.equal(list.has(address), false, address);
});
