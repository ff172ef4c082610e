/** The check of the site finds what it is for. */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { faultsOfSite } from "../../scripts/site-links.mjs";

test("a missing page, a missing anchor and a script from elsewhere are faults; links to other sites are none", (context) => {
  const folder = mkdtempSync(join(tmpdir(), "procman-site-"));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, "docs"));
  writeFileSync(
    join(folder, "index.html"),
    `<a href="docs/a.html#there">a</a> <a href="./docs/a.html#gone">b</a> <a href="/docs/">c</a> <a href="https://example.org/x">d</a>`,
  );
  writeFileSync(
    join(folder, "docs/a.html"),
    `<h2 id="there">A</h2> <a href="../">up</a> <a href="b.html">b</a> <script src="https://cdn.example.org/a.js"></script> <img src="//cdn.example.org/a.png">`,
  );
  assert.deepEqual(faultsOfSite(folder).sort(), [
    "/docs/a.html links to b.html, which does not exist",
    "/docs/a.html loads //cdn.example.org/a.png",
    "/docs/a.html loads https://cdn.example.org/a.js",
    "/index.html links to ./docs/a.html#gone, which has no such anchor",
    "/index.html links to /docs/, which does not exist",
  ]);
});
