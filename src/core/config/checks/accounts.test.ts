/** `api.group`: the Unix group whose members may look. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError } from "../problems.ts";
import { resolveConfiguration } from "../validate.ts";

const GID = process.getgid?.() ?? 0;

function groupOf(group: unknown): unknown {
  return resolveConfiguration({ processes: [], api: { group } }).api.group;
}

/** As `path message`. */
function problemsOf(group: unknown): readonly string[] {
  try {
    groupOf(group);
    return [];
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems.map(({ path, message }) => `${path} ${message}`);
  }
}

test("a group is a name or a number, and its members may look; scopes say what else", () => {
  assert.deepEqual(groupOf(undefined), undefined);
  assert.deepEqual(groupOf(GID), { name: String(GID), gid: GID, scopes: ["read"] });
  assert.deepEqual(groupOf("daemon"), { name: "daemon", gid: 1, scopes: ["read"] });
  const control = { name: "daemon", gid: 1, scopes: ["read", "control"] };
  assert.deepEqual(groupOf({ name: "daemon", scopes: ["read", "control"] }), control);
});

test("a group that the machine lacks is an error at its place, with the remedy", () => {
  const message =
    'Found "no-such-group"; this machine has no such group. Create it ("groupadd no-such-group"), or correct the name.';
  assert.deepEqual(problemsOf("no-such-group"), [`api.group ${message}`]);
  assert.deepEqual(problemsOf({ name: "no-such-group" }), [`api.group.name ${message}`]);
  for (const odd of ["-x", "a:b", "a b", "+0"]) assert.match(problemsOf(odd)[0] ?? "", /no such group/, odd);
});

test("no member may end procman or change what it runs: admin is no scope of a group", () => {
  assert.match(
    problemsOf({ name: "daemon", scopes: ["admin"] })[0] ?? "",
    /^api\.group\.scopes\[0\] Found "admin"; allowed: .*read.*control/,
  );
  assert.match(problemsOf({ name: "daemon", scopes: [] })[0] ?? "", /^api\.group\.scopes Found an empty list/);
  assert.match(problemsOf({ name: "daemon", scope: ["read"] })[0] ?? "", /unknown key "scope".*"scopes"/);
  assert.match(problemsOf({ scopes: ["read"] })[0] ?? "", /Missing key "name"/);
  assert.match(problemsOf(true)[0] ?? "", /^api\.group Found true; allowed: a Unix group/);
});
