import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigurationError } from "../problems.ts";
import { resolveConfiguration } from "../validate.ts";
import { accountErrors } from "./accounts.ts";

function spec(fields: object) {
  return resolveConfiguration({ processes: [{ id: "web", cmd: "x", autostart: true, ...fields }] }).processes[0];
}

/** `path message` of each problem. */
function about(fields: object): string {
  try {
    spec(fields);
    return "";
  } catch (error) {
    assert.ok(error instanceof ConfigurationError);
    return error.problems.map(({ path, message }) => `${path} ${message}`).join("\n");
  }
}

test("sizes become bytes, unlimited becomes a number, omitted fields stay absent", () => {
  assert.equal(spec({ memoryLimit: "512MB" })?.memoryLimit, 512_000_000);
  assert.equal(spec({ memoryLimit: "512MB", memoryMax: "600 MiB" })?.memoryMax, 629_145_600);
  assert.deepEqual(spec({ ulimits: { nofile: 100, core: "1MiB", stack: "unlimited", cpu: 60 } })?.ulimits, {
    nofile: 100,
    core: 1_048_576,
    stack: -1,
    cpu: 60,
  });
  assert.deepEqual([spec({ nice: -5 })?.nice, spec({ umask: "027" })?.umask], [-5, "027"]);
  assert.ok(!["memoryLimit", "memoryMax", "ulimits", "user", "group", "nice", "umask"].some((key) => key in (spec({}) ?? {})));
});

test("invalid limits are refused with place and allowed values", () => {
  assert.match(about({ memoryLimit: "much" }), /memoryLimit Found "much"; allowed: a size such as/);
  assert.match(
    about({ memoryMax: 0 }),
    /memoryMax Found 0; allowed: a size such as .*, more than 0; leave it out where there is no limit\./,
  );
  for (const nothing of [0, "0MB", "0.0 GiB"])
    assert.match(about({ memoryLimit: nothing }), /memoryLimit Found .*, more than 0; leave it out/);
  assert.equal(about({ memoryLimit: "0.5GB" }), "");
  assert.match(
    about({ memoryLimit: "512MB", memoryMax: 512_000_000 }),
    /memoryMax Found 512000000; allowed: more than "memoryLimit", which is "512MB"\./,
  );
  assert.match(about({ ulimits: { nofile: "64MB" } }), /ulimits\.nofile Found "64MB"; allowed: a whole number from 0, or "unlimited"/);
  assert.match(about({ ulimits: { files: 1 } }), /ulimits\.files Found the unknown key "files"/);
  assert.match(about({ nice: 20 }), /nice Found 20; allowed: a whole number from -20/);
  assert.match(about({ umask: 27 }), /umask Found 27; allowed: three octal digits in quotes, as "027"/);
  assert.match(about({ umask: "089" }), /umask Found "089"; allowed: three octal digits/);
});

test("users and groups are those of the machine, and only root may use another user", () => {
  const path = ["processes", 0];
  const problems = (process: object, own: number) =>
    accountErrors(process, path, own).map(({ path, message }) => `${path.join(".")} ${message}`);
  assert.deepEqual(problems({ user: "root" }, 0), []);
  assert.deepEqual(problems({ user: 1_234, group: 5 }, 0), []);
  assert.deepEqual(problems({ user: "root", group: "root" }, 0), []);
  assert.match(problems({ user: "no-such-user" }, 0)[0] ?? "", /^processes\.0\.user Found "no-such-user"; this machine has no such user/);
  assert.match(problems({ group: "no-such-group" }, 0)[0] ?? "", /group Found "no-such-group"; this machine has no such group/);
  assert.deepEqual(problems({ user: 1_234 }, 1_234), []);
  assert.match(
    problems({ user: "root" }, 1_234)[0] ?? "",
    /user Found "root"; only root may start processes as another user\. Run procman as root, or/,
  );
});
