import assert from "node:assert/strict";
import { test } from "node:test";
import { RunMarkers } from "./run-marker.ts";
import { sipHash } from "./sip-hash.ts";

const KEY = "000102030405060708090a0b0c0d0e0f";

test("the keyed hash is SipHash-2-4: vectors of its reference implementation", () => {
  const text = (length: number): string => String.fromCharCode(...Array.from({ length }, (_, at) => at));
  assert.deepEqual(
    [0, 1, 8, 15, 63].map((length) => sipHash(KEY, text(length))),
    ["726fdb47dd0e0e31", "74f839c593dc67fd", "93f5f5799a932462", "a129ca6149be45e5", "958a324ceb064572"],
  );
});

test("a proven marker can be made only with the key", () => {
  const markers = new RunMarkers("/state", KEY);
  const proven = markers.of("web:2", 3);
  assert.deepEqual(markers.in(`A=1\0PROCMAN_RUN_ID=${proven}\0B=2`), { slot: "web:2", run: 3, isProven: true });
  const forged = [
    new RunMarkers("/state", KEY.replace("0", "1")).of("web:2", 3),
    proven.replace(".3@", ".4@"),
    proven.replace("web:2", "web:3"),
  ];
  for (const marker of forged) assert.equal(markers.in(`PROCMAN_RUN_ID=${marker}`)?.isProven, false, marker);
});

test("each process has its own token, which is not a marker's proof", () => {
  const [markers, others] = [new RunMarkers("/state", KEY), new RunMarkers("/other", KEY)];
  const tokens = [
    markers.proxyToken("web-1"),
    markers.proxyToken("web-2"),
    others.proxyToken("web-1"),
    markers.of("web-1", 1).slice(-16),
  ];
  assert.equal(new Set(tokens).size, tokens.length);
  for (const token of tokens) assert.match(token, /^[0-9a-f]{16}$/);
});

test("a marker of another state folder, without a proof or of another program is none", () => {
  const markers = new RunMarkers("/state", KEY);
  const own = markers.of("web", 3);
  for (const marker of [
    new RunMarkers("/other", KEY).of("web", 3),
    own.slice(0, -17),
    `${own}x`,
    own.slice(0, -1),
    "web.3",
    "",
  ])
    assert.equal(markers.in(`PROCMAN_RUN_ID=${marker}\0`), undefined, marker);
  assert.equal(markers.in(`NO_PROCMAN_RUN_ID=${own}`), undefined);
});

test("markers of plugins have another variable", () => {
  const [runs, plugins] = [new RunMarkers("/state", KEY), new RunMarkers("/state", KEY, "PROCMAN_PLUGIN_ID")];
  const environment = `PROCMAN_RUN_ID=${runs.of("web", 3)}\0PROCMAN_PLUGIN_ID=${plugins.of("plugin:slack", 9)}`;
  assert.deepEqual(runs.in(environment), { slot: "web", run: 3, isProven: true });
  assert.deepEqual(plugins.in(environment), { slot: "plugin:slack", run: 9, isProven: true });
  assert.equal(plugins.in(`PROCMAN_RUN_ID=${runs.of("web", 3)}`), undefined);
});
