import assert from "node:assert/strict";
import { test } from "node:test";
import { didYouMean, suggest } from "./suggest.ts";

const KEYS = ["id", "cmd", "restart", "restartDelayMs", "restartLimit", "cluster"];

test("a slip of the finger is found: swapped, missing, added and wrong letters", () => {
  assert.equal(suggest("restrat", KEYS), "restart");
  assert.equal(suggest("restar", KEYS), "restart");
  assert.equal(suggest("clustter", KEYS), "cluster");
  assert.equal(suggest("cmb", KEYS), "cmd");
  assert.equal(suggest("restartdelayms", KEYS), "restartDelayMs");
});

test("a word that is far from all is no slip", () => {
  assert.equal(suggest("autostart", ["id", "cmd"]), undefined);
  assert.equal(didYouMean("x", []), "");
});

test("the sentence names the nearest", () => {
  assert.equal(didYouMean("restrat", KEYS), ' Did you mean "restart"?');
});
