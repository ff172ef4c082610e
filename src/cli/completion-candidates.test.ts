import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { printedIdsInFile } from "./completion-candidates.ts";

test("ids that lines begin with: of included files, too; a number of instances that is a reference has no length", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-ids-"));
  context.after(() => rmSync(folder, { recursive: true }));
  const write = (name: string, ...processes: readonly object[]): void =>
    writeFileSync(
      join(folder, name),
      JSON.stringify({ ...(name === "procman.json" && { include: ["more.json"] }), processes }),
    );
  write(
    "procman.json",
    { id: "web", cluster: { instances: 12 } },
    { id: "api", cluster: { instances: `\${WEB_CONCURRENCY:-2}` } },
  );
  write("more.json", { id: "report" }, { id: "jobs", cluster: { instances: "max" } });
  assert.deepEqual(printedIdsInFile(join(folder, "procman.json")), ["web-12", "api-1", "report", "jobs-1"]);
});
