/** Writes the man pages into `dist/man`, at the build. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { manual } from "./manual.ts";
import { manPageText } from "./roff.ts";

const folder = new URL("../dist/man/", import.meta.url);
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
  readonly version: string;
};
// https://reproducible-builds.org/docs/source-date-epoch: the same source, the same pages.
const { SOURCE_DATE_EPOCH } = process.env;
const date = new Date(SOURCE_DATE_EPOCH ? Number(SOURCE_DATE_EPOCH) * 1000 : Date.now()).toISOString().slice(0, 10);

rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const page of await manual())
  writeFileSync(new URL(`${page.name}.${page.section}`, folder), manPageText(page, { version, date }));
