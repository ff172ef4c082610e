/** What is written to the terminal makes the old screen the new one. */
import assert from "node:assert/strict";
import { before, test } from "node:test";
import fc from "fast-check";
import { CellBuffer, type ScreenSize } from "./cell-buffer.ts";
import { difference } from "./cell-diff.ts";
import { clustersOf, loadWidths } from "./text-clusters.ts";

before(loadWidths);

const SIZE: ScreenSize = { columns: 12, rows: 3 };

/** A terminal without line wrap. Half a wide character that is written over is garbage in the other half: no program may rely on more. */
class Emulator {
  readonly cells = new CellBuffer(SIZE);
  readonly #widthOf: (text: string, width: number) => number;
  #at = 0;
  #style = "";

  /** `widthOf`: its opinion. */
  constructor(widthOf: (text: string, width: number) => number = (_, width) => width) {
    this.#widthOf = widthOf;
  }

  write(output: string): void {
    for (const [part, row, column, style, text] of output.matchAll(/\x1b\[(\d+);(\d+)H|\x1b\[([\d;]*)m|([^\x1b]+)/g)) {
      if (row !== undefined) this.#at = (Number(row) - 1) * SIZE.columns + Number(column) - 1;
      else if (style !== undefined) this.#style = style.replace(/^0;?/, "");
      else
        for (const cluster of clustersOf(text ?? assert.fail(part)))
          this.#put(cluster.text, this.#widthOf(cluster.text, cluster.width));
    }
  }

  #put(text: string, width: number): void {
    const { texts, styles } = this.cells;
    const end = (Math.floor(this.#at / SIZE.columns) + 1) * SIZE.columns;
    for (let at = this.#at; at > 0 && texts[at] === ""; at -= 1) texts[at - 1] = "?";
    for (let at = Math.min(this.#at + width, end); at < end && texts[at] === ""; at += 1) texts[at] = "?";
    for (let at = this.#at; at < Math.min(this.#at + width, end); at += 1) {
      texts[at] = at === this.#at ? text : "";
      styles[at] = this.#style;
    }
    this.#at = Math.min(this.#at + width, end - 1);
  }
}

const text = fc
  .array(fc.constantFrom("a", "b c", "   ", "日", "本語", "👍", "👩‍👩‍👧", "🇩🇪", "❤️", "e\u0301", "\u001b[31m", "…"), {
    maxLength: 6,
  })
  .map((parts) => parts.join(""));

const put = fc.record({
  text,
  column: fc.integer({ min: 0, max: SIZE.columns - 1 }),
  row: fc.integer({ min: 0, max: SIZE.rows - 1 }),
  style: fc.constantFrom("", "1", "31;7"),
});

function screenOf(
  puts: readonly { readonly text: string; readonly column: number; readonly row: number; readonly style: string }[],
): CellBuffer {
  const cells = new CellBuffer(SIZE);
  for (const { text: given, style, ...place } of puts) cells.put(given, place, style);
  return cells;
}

const screen = fc.array(put, { maxLength: 8 }).map(screenOf);

/** Screens that differ little, as those of a program do. */
const screens = fc.array(
  fc.oneof(
    screen,
    fc.tuple(screen, put).map(([before, change]) => changedBy(before, change)),
  ),
  { minLength: 1, maxLength: 4 },
);

function changedBy(
  before: CellBuffer,
  { text: given, style, ...place }: Parameters<typeof screenOf>[0][number],
): CellBuffer {
  const after = new CellBuffer(SIZE);
  for (const [at, each] of before.texts.entries())
    [after.texts[at], after.styles[at]] = [each, before.styles[at] ?? ""];
  after.put(given, place, style);
  return after;
}

test("each difference that is applied to the old screen gives the new one, with wide characters and emoji", () => {
  fc.assert(
    fc.property(screens, (all) => {
      const terminal = new Emulator();
      let before: CellBuffer | undefined;
      for (const after of all) {
        terminal.write(difference(before, after));
        assert.deepEqual(terminal.cells.texts, after.texts);
        assert.deepEqual(terminal.cells.styles, after.styles);
        before = after;
      }
    }),
    { numRuns: 500 },
  );
});

test("in a terminal that thinks otherwise about the widths of emoji, all other characters are in their places", () => {
  const opinion = fc.constantFrom(1, 2, 4);
  fc.assert(
    fc.property(screens, opinion, (all, width) => {
      const terminal = new Emulator((cluster, usual) => (cluster.length > 1 ? width : usual));
      let before: CellBuffer | undefined;
      for (const after of all) {
        terminal.write(difference(before, after));
        for (const [at, each] of after.texts.entries()) {
          const shown = terminal.cells.texts[at] ?? "";
          // An emoji that is wider there is damaged; behind one that is narrower, nothing is left of what was there
          // before.
          if (each === "") assert.ok(["", " ", "?"].includes(shown), `cell ${at}`);
          else if (each.length === 1) assert.equal(shown, each, `cell ${at}`);
        }
        before = after;
      }
    }),
    { numRuns: 500 },
  );
});

test("of two equal screens nothing is written, of one changed word that word alone", () => {
  const before = screenOf([{ text: "web running", column: 0, row: 1, style: "" }]);
  assert.equal(difference(before, before), "");
  const after = screenOf([{ text: "web stopped", column: 0, row: 1, style: "" }]);
  assert.equal(difference(before, after), "\u001b[0m\u001b[2;5Hstopped");
});

test("a screen of another size is written whole", () => {
  const after = new CellBuffer({ columns: 2, rows: 2 });
  assert.equal(difference(new CellBuffer(SIZE), after), "\u001b[0m\u001b[1;1H  \u001b[2;1H  ");
});

test("nothing but printable text and sequences of the monitor is ever written for any text", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 30 }), (given) => {
      const cells = new CellBuffer(SIZE);
      cells.put(given, { column: 0, row: 0 });
      const rest = difference(undefined, cells).replaceAll(/\x1b\[\d+;\d+H|\x1b\[0m/g, "");
      assert.doesNotMatch(rest, /[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
    }),
    { numRuns: 100 },
  );
});
