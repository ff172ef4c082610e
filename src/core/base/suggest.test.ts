import assert from "node:assert/strict";
import { test } from "node:test";
import { didYouMean, suggest } from "./suggest.ts";

const KEYS = ["id", "cmd", "restart", "restartDelayMs", "restartLimit", "cluster"];

test("typing errors are recognised: swapped, missing, added and wrong letters", () => {
  assert.equal(suggest("restrat", KEYS), "restart");
  assert.equal(suggest("restar", KEYS), "restart");
  assert.equal(suggest("clustter", KEYS), "cluster");
  assert.equal(suggest("cmb", KEYS), "cmd");
  assert.equal(suggest("restartdelayms", KEYS), "restartDelayMs");
});

test("a word far from all candidates has no suggestion", () => {
  assert.equal(suggest("autostart", ["id", "cmd"]), undefined);
  assert.equal(didYouMean("x", []), "");
  assert.equal(didYouMean("", ["a", "id"]), "");
});

test("the sentence names the nearest candidate", () => {
  assert.equal(didYouMean("restrat", KEYS), ' Did you mean "restart"?');
});
