/**
 * The text of a log line as pieces with colours. SGR sequences colour, all other controls are shown and do nothing; so are the
 * characters that change the direction of text, which could make a line read otherwise than it is.
 */

/** `color`, `background`: 0 to 255 of the usual palette, or `#rrggbb`. */
export type TextStyle = {
  readonly color?: number | string;
  readonly background?: number | string;
  readonly bold?: true;
  readonly dim?: true;
  readonly italic?: true;
  readonly underline?: true;
};

export type StyledText = { readonly text: string; readonly style: TextStyle; readonly isControl?: true };

const SPECIAL = /\x1b\[([\d;:]*)m|[\0-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/g;
const HAS_SPECIAL = new RegExp(SPECIAL.source);
const PLAIN: TextStyle = {};

/** @example styled("\u001b[31mno\u001b[0m") // [{ text: "no", style: { color: 1 } }] */
export function styled(line: string): readonly StyledText[] {
  const text = line.replace(/\r+$/, "");
  const pieces: StyledText[] = [];
  let [style, from] = [PLAIN, 0];
  for (const found of text.matchAll(SPECIAL)) {
    if (found.index > from) pieces.push({ text: text.slice(from, found.index), style });
    from = found.index + found[0].length;
    if (found[1] === undefined) pieces.push({ text: shown(found[0]), style, isControl: true });
    else style = afterCodes(style, found[1]);
  }
  if (from < text.length) pieces.push({ text: text.slice(from), style });
  return pieces;
}

/** The text that is seen, without colours: for searching, copying and measuring. */
export function plainText(line: string): string {
  if (!HAS_SPECIAL.test(line)) return line;
  return styled(line)
    .map(({ text }) => text)
    .join("");
}

/** A control picture (U+2400 …) or the number of the character. */
function shown(control: string): string {
  const code = control.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code === 0x7f ? "\u2421" : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

function afterCodes(before: TextStyle, text: string): TextStyle {
  const codes = text.split(/[;:]/).map(Number);
  let style = before;
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 38 || code === 48) {
      const { color, used } = extendedColor(codes.slice(index + 1));
      index += used;
      if (color !== undefined) style = { ...style, [code === 38 ? "color" : "background"]: color };
    } else style = afterCode(style, code);
  }
  return style;
}

/** Of `5;N` and `2;R;G;B`. */
function extendedColor([kind, ...values]: readonly number[]): { readonly color?: number | string; readonly used: number } {
  const isByte = (value: number | undefined): value is number => value !== undefined && value >= 0 && value <= 255;
  if (kind === 5) return isByte(values[0]) ? { color: values[0], used: 2 } : { used: 2 };
  if (kind !== 2) return { used: 1 };
  const parts = values.slice(0, 3);
  if (parts.length < 3 || !parts.every(isByte)) return { used: 4 };
  return { color: `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`, used: 4 };
}

const SWITCHES: Readonly<Record<number, keyof TextStyle>> = { 1: "bold", 2: "dim", 3: "italic", 4: "underline" };

function afterCode(style: TextStyle, code: number): TextStyle {
  if (code === 0) return PLAIN;
  const name = SWITCHES[code];
  if (name !== undefined) return { ...style, [name]: true };
  if (code >= 30 && code <= 37) return { ...style, color: code - 30 };
  if (code >= 90 && code <= 97) return { ...style, color: code - 82 };
  if (code >= 40 && code <= 47) return { ...style, background: code - 40 };
  if (code >= 100 && code <= 107) return { ...style, background: code - 92 };
  return without(style, code);
}

const ENDS: Readonly<Record<number, readonly (keyof TextStyle)[]>> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  39: ["color"],
  49: ["background"],
};

function without(style: TextStyle, code: number): TextStyle {
  const names = ENDS[code] ?? [];
  return Object.fromEntries(Object.entries(style).filter(([name]) => !names.includes(name as keyof TextStyle)));
}
