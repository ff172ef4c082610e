/** Keeps `.procman`, which has a secret and stored output, out of images that are built in a folder. */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const FILE = ".dockerignore";
const LINE = "**/.procman";

/** Whether an image is built in this folder, and would get `.procman` by `COPY . .`. */
export function wouldCopyState(folder: string): boolean {
  const text = textIn(folder);
  if (text === undefined) return ["Dockerfile", "Containerfile"].some((name) => existsSync(join(folder, name)));
  return !text.split("\n").some((line) => /^(?:\*|(?:\/|\*\*\/)?\.procman(?:\/\**)?)$/.test(line.trim()));
}

/** Adds the line to `.dockerignore`, which is created if there is none. */
export function ignoreState(folder: string): void {
  const text = textIn(folder) ?? "";
  appendFileSync(join(folder, FILE), `${text === "" || text.endsWith("\n") ? "" : "\n"}${LINE}\n`);
}

function textIn(folder: string): string | undefined {
  const file = join(folder, FILE);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

export const STATE_IS_COPIED = `${FILE} has no line ${LINE}: "COPY . ." copies procman's secret and stored output into the image`;
