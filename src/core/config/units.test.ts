import assert from "node:assert/strict";
import { test } from "node:test";
import { parseSize } from "./units.ts";

test("sizes: MB is a power of 1000, MiB a power of 1024, a number is bytes", () => {
  assert.deepEqual(["500MB", "2GB", "1.5kB", "1KB", "1KiB", "2 GiB", "7B", "1TB"].map(parseSize), [
    500e6,
    2e9,
    1500,
    1000,
    1024,
    2 * 1024 ** 3,
    7,
    1e12,
  ]);
  assert.equal(parseSize(42), 42);
});
