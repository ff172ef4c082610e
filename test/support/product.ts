/** The installed package that tests run: the packed one of `npm test`, else this checkout with its `dist/`. */
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

export const ROOT: string = fileURLToPath(new URL("../..", import.meta.url));

/** Folder of the package: `scripts/packed-product.mjs` names it. */
export const PACKAGE: string = process.env.PROCMAN_TEST_PACKAGE || ROOT;

export const DIST: string = join(PACKAGE, "dist");

/** The command, as `procman` in `node_modules/.bin`. */
export const BIN: string = join(DIST, "procman.cjs");

/** URL of an entry for ES modules: `index`, `client`, `cluster`. */
export function entryUrl(name: string): string {
  return pathToFileURL(join(DIST, `${name}.js`)).href;
}

/** What `import … from "procman"` gives. */
export function library(): Promise<typeof import("../../src/index.ts")> {
  return import(entryUrl("index"));
}

/** What `import … from "procman/client"` gives. */
export function client(): Promise<typeof import("../../src/client/index.ts")> {
  return import(entryUrl("client"));
}
