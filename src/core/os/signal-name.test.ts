import assert from "node:assert/strict";
import { test } from "node:test";
import { signalCode, signalNamed, signalOf } from "./signal-name.ts";

test("signals are known by name, in any case, with and without SIG, and by number", () => {
  for (const written of ["HUP", "SIGHUP", "hup", "sighup", "1", 1])
    assert.equal(signalNamed(written), "SIGHUP", String(written));
  assert.equal(signalNamed(9), "SIGKILL");
  for (const written of ["", "SIG", "0", 0, -1, 1.5, "1.0", "HUP ", "web", "__proto__", "SIGSIGHUP", 1_000])
    assert.equal(signalNamed(written), undefined, String(written));
});

test("a wrong name gets the nearest one", () => {
  assert.throws(() => signalOf("SIGTREM", "body.signal"), {
    code: "input-invalid",
    message: /there is no signal "SIGTREM"; use a name such as .*, or a number such as 1\. Did you mean "SIGTERM"\?$/,
  });
  assert.throws(
    () => signalOf("x".repeat(1_000)),
    ({ message }: Error) => message.length < 200,
  );
});

test("the exit code of an end by a signal is that of shells", () => {
  assert.deepEqual(["SIGHUP", "SIGKILL", "SIGTERM", null, undefined].map(signalCode), [129, 137, 143, 128, 128]);
});
