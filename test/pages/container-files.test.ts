/** The files of `docker/` are those that docs/guide/containers.md shows, and go together with those of an export. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { exported, fileOf } from "../support/export-rig.ts";
import { ROOT } from "../support/product.ts";
import { blocksOf } from "./page-blocks.ts";

const shipped = (name: string): string => readFileSync(join(ROOT, "docker", name), "utf8");

for (const [name, start] of [
  ["Dockerfile", "# For a project"],
  ["compose.yaml", "services:"],
] as const)
  test(`docs/guide/containers.md shows docker/${name}`, () => {
    assert.equal(blocksOf("docs/guide/containers.md").find(({ text }) => text.startsWith(start))?.text, shipped(name));
  });

test("docker/.dockerignore keeps out what the .dockerignore of an export keeps out", () => {
  const ofExport = fileOf(exported("compose"), "Dockerfile.dockerignore").split("\n");
  assert.deepEqual(
    shipped(".dockerignore").split("\n"),
    ofExport.filter((line) => !line.startsWith("#")),
  );
});

test("the image of docker/Dockerfile and that of an export have the project in the same folder, for the same user", () => {
  const linesOf = (text: string): readonly string[] =>
    text.split("\n").filter((line) => /^(?:WORKDIR|USER|COPY \. )/.test(line));
  const own = linesOf(shipped("Dockerfile"));
  assert.deepEqual(own.slice(-3), linesOf(fileOf(exported("compose"), "Dockerfile")));
});
