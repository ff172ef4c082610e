/** Lines that the operator types into a process: what was accepted arrives whole, once and in order; what was refused never does. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs } from "../../programs/run-diary.mjs";
import { checkDiary, type Run } from "../../support/diary-check.ts";
import { within } from "../../support/procman-process.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import type { Outcome } from "./campaign-model.ts";

/** The process. Each of its runs writes what it reads into a file. */
export const TYPED = "typed";
/** At once. */
const MOST_LINES = 20;
const LONGEST = 300;
/** A run that is there and reads has read by then. Milliseconds. */
const READ_MS = 20_000;

/** `from`: when it was sent. */
type Line = { readonly text: string; readonly from: number; readonly outcome: Outcome };

export class TypedLines {
  #count = 0;
  #lines: Line[] = [];

  /** Another life, with other files. */
  begin(): void {
    this.#lines = [];
  }

  next(random: SeededRandom): readonly string[] {
    return Array.from({ length: Math.ceil(random.between(0, MOST_LINES)) }, () => {
      this.#count += 1;
      return `${this.#count} ${"x".repeat(random.between(0, LONGEST))}`;
    });
  }

  /** `taken`: so many bytes were accepted, the others refused; undefined: nobody knows. */
  sent(lines: readonly string[], from: number, taken: number | undefined): void {
    let end = 0;
    for (const text of lines) {
      end += text.length + 1;
      this.#lines.push({ text, from, outcome: taken === undefined ? "unknown" : end <= taken ? "done" : "refused" });
    }
  }

  /** What the run with this pid, which goes on, hasn't read of what was accepted since it began. */
  async missing(folder: string, pid: number): Promise<readonly string[]> {
    const run = checkDiary(folder).runs.findLast((each) => each.id === TYPED && each.pid === pid);
    if (run === undefined) return [];
    const due = this.#lines.filter(({ from, outcome }) => outcome === "done" && from > run.from);
    const unread = (): readonly Line[] => {
      const read = new Set(readBy(folder, run));
      return due.filter(({ text }) => !read.has(text));
    };
    await within(READ_MS, () => unread().length === 0);
    return unread().map(({ text, from }) => `${brief(text)} was accepted ${seconds(from)} ago, and not read`);
  }

  /** What the runs of a life have read, against what was sent. */
  verdict(folder: string, runs: readonly Run[]): readonly string[] {
    const read = runs.filter(({ id }) => id === TYPED).map((run) => readBy(folder, run));
    const known = new Map(this.#lines.map(({ text, outcome }) => [text, outcome]));
    const all = read.flat();
    const odd = all.flatMap((text, index) => {
      if (!known.has(text)) return [`${brief(text)} was read, but not sent`];
      if (known.get(text) === "refused") return [`${brief(text)} was read, but refused`];
      return all.indexOf(text) === index ? [] : [`${brief(text)} was read twice`];
    });
    const accepted = this.#lines.filter(({ outcome }) => outcome === "done").map(({ text }) => text);
    return [...odd, ...read.flatMap((texts) => gaps(texts, accepted))];
  }
}

/** From its first to its last line, a run has all that was accepted, in order. */
function gaps(read: readonly string[], accepted: readonly string[]): readonly string[] {
  const known = new Set(accepted);
  const own = read.filter((text) => known.has(text));
  const first = accepted.indexOf(own[0] ?? "");
  return own.flatMap((text, index) =>
    text === accepted[first + index] ? [] : [`${brief(text)} was read in place of ${brief(accepted[first + index])}`],
  );
}

/** The whole lines; of a run that was killed, the last one may be cut. */
function readBy(folder: string, { run }: Run): readonly string[] {
  const file = join(folder, "read", run);
  return existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
}

function brief(text = "nothing"): string {
  return `line ${text.slice(0, 20)}`;
}

function seconds(from: number): string {
  return `${((monotonicMs() - from) / 1_000).toFixed(1)} s`;
}
