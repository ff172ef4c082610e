/** Several files as one input: JSON of their names and bytes, so that a file with it can be read and repeated. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SeededRandom } from "../support/seeded-random.ts";
import { damaged } from "./fuzz-target.ts";

export type FileSet = Readonly<Record<string, Buffer>>;

export function writeSet(files: FileSet): Buffer {
  return Buffer.from(
    JSON.stringify(files, (_, value: unknown) => (isBytes(value) ? Buffer.from(value.data).toString("latin1") : value)),
  );
}

function isBytes(value: unknown): value is { readonly data: readonly number[] } {
  return typeof value === "object" && value !== null && "data" in value;
}

export function readSet(input: Buffer): FileSet {
  const texts = Object.entries(JSON.parse(input.toString("utf8")) as Readonly<Record<string, string>>);
  return Object.fromEntries(texts.map(([name, text]) => [name, Buffer.from(text, "latin1")]));
}

/** The files with damage in one or two of them. */
export function damagedSet(files: FileSet, random: SeededRandom, words: readonly string[]): FileSet {
  const result = { ...files };
  for (let left = random.next() < 0.7 ? 1 : 2; left > 0; left -= 1) {
    const name = random.of(Object.keys(files));
    result[name] = damaged(result[name] ?? Buffer.alloc(0), random, { words });
  }
  return result;
}

/** A folder with these files while `use` runs. `folder` must not exist; a new one by default. */
export async function withFiles<Result>(
  files: FileSet,
  use: (folder: string) => Result | Promise<Result>,
  folder = mkdtempSync(join(tmpdir(), "procman-fuzz-")),
): Promise<Result> {
  try {
    mkdirSync(folder, { recursive: true });
    for (const [name, bytes] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true });
      writeFileSync(join(folder, name), bytes, { mode: 0o600 });
    }
    return await use(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}
