import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError } from "../problems.ts";
import type { Config } from "../spec.ts";
import { resolveConfiguration } from "../validate.ts";

function loaded(...plugins: readonly unknown[]): Config {
  return resolveConfiguration(JSON.stringify({ processes: [], plugins }), { file: "/home/app/procman.json" });
}

/** All problems, each with its place. */
function refused(...plugins: readonly unknown[]): string {
  try {
    loaded(...plugins);
    return "";
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems.map(({ line, column, path, message }) => `${line}:${column} ${path} ${message}`).join("\n");
  }
}

test("2.5 the address says whether a plugin is a file, a package, a remote module, or one of procman's", () => {
  const { plugins } = loaded(
    ...[
      "./plugins/slack.ts",
      "../slack.js",
      "/opt/x.mjs",
      "file:///opt/x.mjs",
      "@scope/thing",
      "thing/sub",
      "https://host/thing@1.2.0.mjs?x=1",
    ].map((url) => ({ url: url.replace(".ts", ".js") })),
    { url: "procman/notify", options: { command: "cat" } },
  );
  assert.deepEqual(
    plugins.map(({ id, source }) => [
      id,
      "path" in source ? source.path : "url" in source ? source.url : `${source.kind} ${source.name}`,
    ]),
    [
      ["slack", "/home/app/plugins/slack.js"],
      ["slack-2", "/home/slack.js"],
      ["x", "/opt/x.mjs"],
      ["x-2", "/opt/x.mjs"],
      ["thing", "package @scope/thing"],
      ["sub", "package thing/sub"],
      ["thing-2", "https://host/thing@1.2.0.mjs?x=1"],
      ["notify", "shipped notify"],
    ],
  );
});

test("2.5 problems that can be found without loading a plugin are errors with their places", () => {
  assert.match(
    refused({ url: "http://host/x.mjs" }),
    /^1:\d+ plugins\[0\]\.url .*plain http could be replaced in transit/,
  );
  assert.match(refused({ url: "ftp://host/x.mjs" }), /allowed: an https address, a path such as/);
  assert.match(refused({ url: "procman/notfy" }), /procman comes with .*Did you mean "procman\/notify"\?/);
  assert.match(
    refused({ url: "thing", integrity: `sha256-${"A".repeat(43)}=` }),
    /integrity Found "integrity" for "thing"/,
  );
  assert.match(refused({ url: "./x.js", integrity: "sha512-x" }), /a digest as "sha256-…" in base64/);
  assert.match(refused({ url: "https://" }), /a valid address/);
});

test("2.5 options of procman's own plugins are checked, except those with a variable", () => {
  assert.match(
    refused({ url: "procman/notify", options: { on: ["crsh"] } }),
    /options\.on\[0\] .*Did you mean "crash"/,
  );
  assert.match(
    refused({ url: "procman/logship", options: { to: "nowhere" } }),
    /plugins\[0\]\.options\.to .*must match/,
  );
  assert.match(refused({ url: "procman/logship" }), /plugins\[0\]\.options\.to .*is missing/);
  assert.match(refused({ url: "procman/otlp", options: { endpoit: "x" } }), /Did you mean "endpoint"/);
  assert.equal(refused({ url: "procman/logship", options: { to: "${TARGET}" } }), "");
  assert.match(
    refused({ url: "procman/notify", options: { webhook: "nowhere" } }),
    /plugins\[0\]\.options\.webhook .*must match/,
  );
  assert.equal(refused({ url: "procman/notify", options: { webhook: "${TARGET}" } }), "");
});

test("2.5 a remote module without a digest is a warning", () => {
  const [warning] = loaded({ url: "https://host/x@1.mjs" }).warnings.filter(({ path }) => path.startsWith("plugins"));
  assert.match(warning?.message ?? "", /without "integrity"/);
});
