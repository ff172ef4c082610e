import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { Configuration } from "../../../generated/configuration.ts";
import { fieldsOf } from "../../../scripts/configuration.ts";
import { type Json, refusalOf } from "../../../test/support/json-schema.ts";
import type { RawConfig } from "./config-schema.ts";
import { resolveConfiguration } from "./validate.ts";

const paths = fieldsOf().map(([path]) => path);

test("every field has a description", () => {
  for (const [path, { description = "" }] of fieldsOf()) assert.match(description, /\.$/, path);
});

test("schema.json, the types of the library and the tables of the docs are what the table of fields gives (else: node --import tsx scripts/schema.ts)", () => {
  const { status, stderr } = spawnSync(process.execPath, ["--import", "tsx", "scripts/schema.ts", "--check"], {
    cwd: new URL("../../..", import.meta.url),
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
});

test("schema.json takes at most one kind of ready and of health, and one of cmd and worker, or extends, as procman does", () => {
  const schema = JSON.parse(readFileSync(new URL("../../../schema.json", import.meta.url), "utf8")) as Json;
  const web = { id: "web", cmd: "true" };
  const cases: readonly (readonly [object, boolean])[] = [
    [web, true],
    [{ id: "web" }, false],
    [{ ...web, worker: "./a.js" }, false],
    [{ ...web, ready: { port: 80, timeout: 3 } }, true],
    [{ ...web, ready: { port: 80, fd: 3 } }, false],
    [{ ...web, health: { http: "http://localhost/" } }, true],
    [{ ...web, health: { port: 80, exec: "true" } }, false],
    [{ id: "web", extends: "base" }, true],
    [{ id: "web", extends: "base", logger: { stdout: null } }, true],
    [{ id: "web", extends: "base", worker: "./a.js", health: { interval: 3 }, env: { A: null } }, true],
    [{ ...web, extends: "base", worker: "./a.js" }, false],
  ];
  const base = { id: "base", cmd: "true", health: { port: 80 }, env: { A: "1" }, logger: { stdout: "a.log" } };
  for (const [process, isValid] of cases) {
    const config = { processes: [base, process] };
    assert.equal(refusalOf(config, schema) === undefined, isValid, JSON.stringify(process));
    if (isValid) resolveConfiguration(config);
    else assert.throws(() => resolveConfiguration(config), /exactly one of|"worker"/, JSON.stringify(process));
  }
});

test("the types of the library are those of the file, with no field missing", () => {
  type Names<Of> = Of extends readonly (infer Item)[]
    ? Names<Item>
    : Of extends object
      ? { [Name in keyof Of]-?: Names<NonNullable<Of[Name]>> }
      : 0;
  const same: [Names<Configuration>] extends [Names<RawConfig>]
    ? [Names<RawConfig>] extends [Names<Configuration>]
      ? true
      : false
    : false = true;
  assert.ok(same);
});

const manual = readFileSync(new URL("../../../docs/reference/configuration.md", import.meta.url), "utf8");

test("docs/reference/configuration.md mentions every field", () => {
  for (const path of paths.filter((path) => path !== "" && !path.endsWith("[]"))) {
    assert.ok(manual.includes(`\`${path.split(/[.\]]+/).at(-1)}\``), path);
  }
});

test("every example in docs/reference/configuration.md is valid, without warnings where it starts", () => {
  const examples = [...manual.matchAll(/```jsonc\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  assert.ok(examples.length > 0);
  for (const example of examples) resolveConfiguration(example, { cwd: "/" });
  assert.deepEqual(resolveConfiguration(examples[0]).warnings, []);
});
