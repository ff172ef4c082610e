import assert from "node:assert/strict";
import { test } from "node:test";
import { localHeader, proxyHeader } from "./proxy-protocol.ts";

const SIGNATURE = "0d0a0d0a000d0a515549540a";

test("a client's address is written in 12 bytes for IPv4 and 36 for IPv6, as the protocol defines", () => {
  const four = proxyHeader({ address: "192.0.2.1", port: 0x1234 }, { address: "::ffff:198.51.100.2", port: 80 });
  assert.equal(four.toString("hex"), `${SIGNATURE}2111000cc0000201c633640212340050`);
  const six = proxyHeader({ address: "2001:db8::1", port: 1 }, { address: "fe80::1:2%eth0", port: 2 });
  assert.equal(
    six.toString("hex"),
    `${SIGNATURE}2121002420010db8000000000000000000000001fe80000000000000000000000001000200010002`,
  );
});

test("the header of a health check names no client", () => {
  assert.equal(localHeader().toString("hex"), `${SIGNATURE}20000000`);
});

test("a token is its own field at the end", () => {
  const token = "0123456789abcdef";
  assert.equal(localHeader(token).toString("hex"), `${SIGNATURE}2000000be00008${token}`);
  const four = proxyHeader({ address: "192.0.2.1", port: 0x1234 }, { address: "198.51.100.2", port: 80 }, token);
  assert.equal(four.toString("hex"), `${SIGNATURE}21110017c0000201c633640212340050e00008${token}`);
});
