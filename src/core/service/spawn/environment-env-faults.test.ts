import assert from "node:assert/strict";
import { test } from "node:test";
import { EnvFileWarnings } from "./environment.ts";

function listener() {
  const logged: string[] = [];
  const faults = new EnvFileWarnings({
    write: (slot, { severity, text }) => void logged.push(`${slot} ${severity}: ${text}`),
  });
  return { faults, takeLogged: () => logged.splice(0) };
}

test("2.2 envFile: a malformed line is logged once, not for each of a hundred restarts or each instance", () => {
  const { faults, takeLogged } = listener();
  const [one, other] = [
    { line: 3, problem: "is wrong" },
    { line: 4, problem: "is wrong" },
  ];
  for (const slot of ["web-1", "web-2", "web-1"]) faults.report(slot, "/a/.env", [one]);
  assert.deepEqual(takeLogged(), ["web-1 warn: /a/.env:3 is wrong"]);
  faults.report("web-2", "/a/.env", [one, other]);
  assert.deepEqual(
    takeLogged(),
    ["web-2 warn: /a/.env:3 is wrong", "web-2 warn: /a/.env:4 is wrong"],
    "it has become another",
  );
  faults.report("web-1", "/a/.env", []);
  assert.deepEqual(takeLogged(), []);
  faults.report("web-1", "/a/.env", [one]);
  assert.deepEqual(takeLogged(), ["web-1 warn: /a/.env:3 is wrong"], "the file was correct in between");
  faults.report("web-1", "/b/.env", []);
  assert.deepEqual(takeLogged(), []);
});

test("2.2 envFile: of a file that is not an env file, five lines are logged, and the number of the others", () => {
  const { faults, takeLogged } = listener();
  faults.report(
    "web",
    "/a/x.yaml",
    Array.from({ length: 40 }, (_, index) => ({ line: index + 1, problem: "is wrong" })),
  );
  const logged = takeLogged();
  assert.equal(logged.length, 6);
  assert.equal(logged.at(-1), "web warn: 35 more lines of /a/x.yaml are malformed, too");
});
