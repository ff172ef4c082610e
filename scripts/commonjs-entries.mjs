/**
 * The entries of the library for CommonJS: each requires the ES module, so that `import` and `require` in one program
 * get the same classes. TypeScript takes the types of `require` from files of their own.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";

const DIST = new URL("../dist/", import.meta.url);
/** Those that have no CommonJS build. */
const ENTRIES = ["index", "client", "plugin"];

for (const name of ENTRIES)
  writeFileSync(new URL(`${name}.cjs`, DIST), `"use strict";\nmodule.exports = require("./${name}.js");\n`);

const files = readdirSync(DIST);
for (const file of files.filter((name) => name.endsWith(".d.ts"))) {
  const common = file.replace(/ts$/, "cts");
  if (files.includes(common)) continue;
  const text = readFileSync(new URL(file, DIST), "utf8");
  writeFileSync(new URL(common, DIST), text.replaceAll(/(\bfrom "\.\/[^"]+)\.js"/g, '$1.cjs"'));
}
