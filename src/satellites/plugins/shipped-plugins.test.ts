import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { isShipped, SHIPPED, SHIPPED_OPTIONS } from "../../core/plugins/shipped/shipped-plugins.ts";

const FOLDERS = readdirSync(import.meta.dirname).filter((name) =>
  existsSync(join(import.meta.dirname, name, "index.ts")),
);

test("each folder of a shipped plugin is in the table, with the schema of the plugin's options", async () => {
  assert.deepEqual([...SHIPPED].sort(), [...FOLDERS].sort());
  for (const name of FOLDERS) {
    const { default: plugin } = (await import(`./${name}/index.ts`)) as {
      readonly default: { readonly name: string; readonly schema: unknown };
    };
    assert.equal(plugin.name, name);
    assert.equal(plugin.schema, isShipped(name) ? SHIPPED_OPTIONS[name] : undefined);
  }
});

test("the name of a member of every object is not the name of a plugin", () => {
  assert.equal(isShipped("constructor"), false);
});
