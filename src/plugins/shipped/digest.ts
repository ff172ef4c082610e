/** What happened, put together: a storm is one message. */
import type { KINDS } from "../../contract/plugin-options.ts";

export type Kind = (typeof KINDS)[number];

export type Happening = {
  readonly kind: Kind;
  readonly process: string;
  /** ISO 8601. */
  readonly time: string;
  /** One sentence. */
  readonly text: string;
  readonly times: number;
};

export type Message = { readonly title: string; readonly text: string; readonly happenings: readonly Happening[] };

const WORDS: Readonly<Record<Kind, string>> = { crash: "crashed", exhausted: "exhausted", recovered: "recovered" };
const ORDER: readonly Kind[] = ["exhausted", "crash", "recovered"];
/** Of more processes only the number is told. */
const MOST_LINES = 20;

export class Digest {
  readonly #whose: string;
  readonly #happenings = new Map<string, Happening>();

  /** `whose`: in the title, as `shop on host1`. */
  constructor(whose: string) {
    this.#whose = whose;
  }

  get isEmpty(): boolean {
    return this.#happenings.size === 0;
  }

  /** The same again is counted; its last words stay. */
  add(happening: Happening): void {
    const key = `${happening.kind} ${happening.process}`;
    const before = this.#happenings.get(key);
    this.#happenings.set(key, before === undefined ? happening : { ...happening, times: before.times + happening.times });
  }

  /** All that came since the last one. */
  take(): Message {
    const all = [...this.#happenings.values()].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
    this.#happenings.clear();
    const counts = ORDER.flatMap((kind) =>
      countOf(
        all.filter((each) => each.kind === kind),
        kind,
      ),
    );
    const lines = all.slice(0, MOST_LINES).map(lineOf);
    const more = all.length > MOST_LINES ? [`and ${all.length - MOST_LINES} more`] : [];
    return { title: `procman ${this.#whose}: ${counts.join(", ")}`, text: [...lines, ...more].join("\n"), happenings: all };
  }
}

function countOf(of: readonly Happening[], kind: Kind): readonly string[] {
  if (of.length === 0) return [];
  return [of.length === 1 ? `${of[0]?.process} ${WORDS[kind]}` : `${of.length} processes ${WORDS[kind]}`];
}

function lineOf({ process, kind, times, text }: Happening): string {
  return `${process} ${WORDS[kind]}${times === 1 ? "" : ` ${times} times`}: ${text}`;
}
