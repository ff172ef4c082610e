/** `npm run docs`: the docs as a static site, in `results/site`. Its generator is in the separate package `site/`, which is installed when it is missing. */
import { copyFileSync, cpSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { MERGED, MOVED, redirectTo } from "../site/moved.mjs";
import { NAVIGATION } from "../site/navigation.mjs";
import { ensureBuild, ensurePackages, must } from "./bootstrap.mjs";
import { endWithNpm } from "./end-with-npm.mjs";
import { ROOT } from "./run-command.mjs";
import { faultsOfSite } from "./site-links.mjs";

const MINUTE = 60_000;
const SITE = join(ROOT, "site");
const OUTPUT = join(ROOT, "results/site");

/** The pages with their pictures, where the generator's packages are found. */
function copyPages() {
  const pages = join(SITE, "pages");
  rmSync(pages, { recursive: true, force: true });
  cpSync(join(ROOT, "docs"), join(pages, "docs"), { recursive: true });
  renameSync(join(pages, "docs", "README.md"), join(pages, "docs", "index.md"));
  const examples = readdirSync(join(ROOT, "examples")).map((name) => `examples/${name}/README.md`);
  const named = NAVIGATION.flatMap((part) => part.pages).map((page) => `${page}.md`);
  for (const file of ["README.md", ...named, ...examples]) {
    const page = join(pages, file.replace(/README\.md$/, "index.md"));
    mkdirSync(dirname(page), { recursive: true });
    copyFileSync(join(ROOT, file), page);
  }
}

function leadOnFromOldAddresses() {
  for (const [name, target] of [...MOVED, ...MERGED])
    writeFileSync(join(OUTPUT, `docs/${name}.html`), redirectTo(name, target));
}

/** For agents: the pages as they are written, their list, and all of them in one file. */
function copyTexts() {
  cpSync(join(ROOT, "docs"), join(OUTPUT, "docs"), {
    recursive: true,
    filter: (path) => !/\.\w+$/.test(path) || path.endsWith(".md"),
  });
  copyFileSync(join(ROOT, "llms.txt"), join(OUTPUT, "llms.txt"));
  copyFileSync(join(ROOT, "dist/llms-full.txt"), join(OUTPUT, "llms-full.txt"));
}

async function main() {
  await ensurePackages("site");
  await ensureBuild();
  copyPages();
  await must(
    "build",
    [process.execPath, join(SITE, "node_modules/vitepress/bin/vitepress.js"), "build", SITE],
    5 * MINUTE,
  );
  leadOnFromOldAddresses();
  copyTexts();
  const faults = faultsOfSite(OUTPUT);
  if (faults.length > 0) throw new Error(`Cannot use the site:\n${faults.join("\n")}`);
  console.log(`The site is in ${OUTPUT}; any web server can serve it.`);
}

endWithNpm();
await main();
