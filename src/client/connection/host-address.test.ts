import assert from "node:assert/strict";
import { test } from "node:test";
import { addressIn } from "./host-address.ts";

test("a socket of this machine is unix: and its path, also as unix:// has it", () => {
  const socket = "/srv/shop/.procman/shop@group.sock";
  assert.deepEqual(addressIn(`unix:${socket}`), { kind: "unix", socket });
  assert.deepEqual(addressIn(`unix://${socket}`), { kind: "unix", socket });
  assert.deepEqual(addressIn("unix:/srv/a b%20c.sock"), { kind: "unix", socket: "/srv/a b%20c.sock" });
  for (const wrong of ["unix:", "unix:shop.sock", "unix:/", "unix:/srv/", "unix://host"])
    assert.throws(
      () => addressIn(wrong),
      /Cannot use the address "unix:.*": after unix: it needs the absolute path/,
      wrong,
    );
});

test("an address of another kind names the three that there are", () => {
  assert.throws(() => addressIn("tcp://web1:9000"), /none of ssh:\/\/USER@HOST, https:\/\/HOST and unix:PATH/);
});
