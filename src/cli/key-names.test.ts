import assert from "node:assert/strict";
import { test } from "node:test";
import { keyText } from "./key-names.ts";

test("keys have the names that they have on keyboards", () => {
  const names = ["ctrl-c", "Ctrl-D", "ctrl-z", "enter", "escape", "up"];
  assert.deepEqual(names.map(keyText), ["\u0003", "\u0004", "\u001a", "\r", "\u001b", "\u001b[A"]);
});

test("an unknown name is refused with those that there are", () => {
  assert.throws(() => keyText("entr"), {
    code: "usage",
    message: /there is no key "entr"\. Did you mean "enter"\? Keys: enter, tab, .*ctrl-a to ctrl-z$/,
  });
});
