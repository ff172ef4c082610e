/** Keys, pasted text and mouse events from the bytes of a terminal in raw mode. */

/** `text`: a character, or pasted text. `row` and `column` from 0. */
export type KeyPress =
  | { readonly name: "text" | "paste"; readonly text: string }
  | { readonly name: "click" | "wheelup" | "wheeldown"; readonly row: number; readonly column: number }
  | { readonly name: NamedKey };

type NamedKey =
  | "up"
  | "down"
  | "left"
  | "right"
  | "pageup"
  | "pagedown"
  | "home"
  | "end"
  | "enter"
  | "tab"
  | "escape"
  | "backspace"
  | "interrupt"
  | "suspend"
  | "redraw"
  | "clear";

const CONTROLS: Readonly<Record<string, NamedKey>> = {
  "\r": "enter",
  "\n": "enter",
  "\t": "tab",
  "\u007f": "backspace",
  "\b": "backspace",
  "\u0003": "interrupt",
  "\u001a": "suspend",
  "\u000c": "redraw",
  "\u0015": "clear",
};

/** Behind `ESC [` or `ESC O`. */
const SEQUENCES: Readonly<Record<string, NamedKey>> = {
  A: "up",
  B: "down",
  C: "right",
  D: "left",
  H: "home",
  F: "end",
  Z: "tab",
  M: "enter",
  "1~": "home",
  "7~": "home",
  "4~": "end",
  "8~": "end",
  "5~": "pageup",
  "6~": "pagedown",
};

const SEQUENCE = /^\u001b(?:\[([\x30-\x3f]*)([\x20-\x2f]*[\x40-\x7e])|O([\x40-\x7e]))/;
/** A sequence that goes on in the next chunk. */
const BEGUN = /^\u001b(?:\[[\x30-\x3f]*[\x20-\x2f]*|O)?$/;
const PASTE = "\u001b[200~";
const PASTE_END = "\u001b[201~";
/** More is nothing to look for, and no line to type. */
const LONGEST_PASTE = 65_536;

export class KeyParser {
  #rest = "";
  /** Text pasted so far; undefined: nothing is being pasted. */
  #pasted: string | undefined;

  /** Whether `flush` has something to give: an Escape, or a sequence that was cut off. */
  get isBegun(): boolean {
    return this.#rest !== "" && this.#pasted === undefined;
  }

  read(chunk: string): readonly KeyPress[] {
    this.#rest += chunk;
    const keys: KeyPress[] = [];
    while (this.#rest !== "") {
      const before = this.#rest;
      const key = this.#pasted === undefined ? this.#next() : this.#paste(this.#pasted);
      if (key !== undefined) keys.push(key);
      if (this.#rest === before) break;
    }
    return keys;
  }

  /** Called when nothing follows: what has begun is an Escape. */
  flush(): readonly KeyPress[] {
    if (!this.isBegun) return [];
    const rest = this.#rest.slice(1);
    this.#rest = "";
    return [{ name: "escape" }, ...this.read(rest)];
  }

  #next(): KeyPress | undefined {
    const rest = this.#rest;
    if (rest.startsWith(PASTE)) {
      this.#pasted = "";
      return this.#take(PASTE.length, undefined);
    }
    if (BEGUN.test(rest)) return undefined;
    const found = SEQUENCE.exec(rest);
    if (found !== null) return this.#take(found[0].length, sequenceKey(found));
    const character = String.fromCodePoint(rest.codePointAt(0) ?? 0);
    // Alt and a key: neither the key nor an Escape is meant.
    if (character === "\u001b") return this.#take(1 + String.fromCodePoint(rest.codePointAt(1) ?? 0).length, undefined);
    const name = CONTROLS[character];
    const isText = !/[\0-\x1f\x7f-\x9f]/.test(character);
    return this.#take(
      character.length,
      name === undefined ? (isText ? { name: "text", text: character } : undefined) : { name },
    );
  }

  #take(length: number, key: KeyPress | undefined): KeyPress | undefined {
    this.#rest = this.#rest.slice(length);
    return key;
  }

  #paste(before: string): KeyPress | undefined {
    const end = this.#rest.indexOf(PASTE_END);
    // The end may come in two chunks.
    const length = end < 0 ? this.#rest.length - cutOf(this.#rest) : end;
    const text = (before + this.#rest.slice(0, length)).slice(0, LONGEST_PASTE);
    this.#rest = this.#rest.slice(end < 0 ? length : end + PASTE_END.length);
    this.#pasted = end < 0 ? text : undefined;
    return end < 0 ? undefined : { name: "paste", text };
  }
}

/** How many characters at the end of the text may be the beginning of the end of a paste. */
function cutOf(text: string): number {
  for (let length = Math.min(text.length, PASTE_END.length - 1); length > 0; length -= 1)
    if (PASTE_END.startsWith(text.slice(-length))) return length;
  return 0;
}

function sequenceKey([, parameters = "", final = "", short = ""]: RegExpExecArray): KeyPress | undefined {
  if (short !== "") return named(short);
  if (parameters.startsWith("<")) return mouseKey(parameters.slice(1), final);
  // `1;5A` is an arrow with Ctrl.
  const [number = ""] = parameters.split(";");
  return named(final === "~" ? `${number}~` : final);
}

function named(sequence: string): KeyPress | undefined {
  const name = SEQUENCES[sequence];
  return name === undefined ? undefined : { name };
}

/** SGR: `button;column;row`, `M` for a press, `m` for a release. */
function mouseKey(parameters: string, final: string): KeyPress | undefined {
  const [button = -1, column = 0, row = 0] = parameters.split(";").map(Number);
  const place = { row: row - 1, column: column - 1 };
  if (final !== "M") return undefined;
  if (button === 0) return { name: "click", ...place };
  if (button === 64) return { name: "wheelup", ...place };
  return button === 65 ? { name: "wheeldown", ...place } : undefined;
}
