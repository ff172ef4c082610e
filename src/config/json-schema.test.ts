import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as z from "zod/mini";
import { fields } from "./fields.ts";
import { described, fieldsOf, type Json } from "./json-schema.ts";
import { configuration } from "./schema.ts";
import { validateConfiguration } from "./validate.ts";
import { zodOf } from "./zod-schema.ts";

const derived = z.toJSONSchema(zodOf(configuration), { target: "draft-7", io: "input" }) as Json;
const paths = fieldsOf(derived).map(([path]) => path);

test("every field has a description, and every description a field", () => {
  assert.deepEqual([...paths].sort(), Object.keys(fields).sort());
});

test("schema.json is what the schema gives (else: node --import tsx scripts/schema.ts)", () => {
  const file = new URL("../../schema.json", import.meta.url);
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), JSON.parse(JSON.stringify(described(derived))));
});

const manual = readFileSync(new URL("../../docs/configuration.md", import.meta.url), "utf8");

test("docs/configuration.md speaks of every field", () => {
  for (const path of paths.filter((path) => path !== "" && !path.endsWith("[]"))) {
    assert.ok(manual.includes(`\`${path.split(/[.\]]+/).at(-1)}\``), path);
  }
});

test("every example in docs/configuration.md is valid, without warnings where it starts", () => {
  const examples = [...manual.matchAll(/```jsonc\n([\s\S]*?)```/g)].map(([, text = ""]) => text);
  assert.ok(examples.length > 0);
  for (const example of examples) validateConfiguration(example);
  assert.deepEqual(validateConfiguration(examples[0]).warnings, []);
});
