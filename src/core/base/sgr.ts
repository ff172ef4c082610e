/** Colors and attributes in the output of programs: sequences of SGR (`ESC [ 1;31 m`). */

/** `color`, `background`: 0 to 255 of the usual palette, or `#rrggbb`. */
export type TextStyle = {
  readonly color?: number | string;
  readonly background?: number | string;
  readonly bold?: true;
  readonly dim?: true;
  readonly italic?: true;
  readonly underline?: true;
};

export const PLAIN_TEXT: TextStyle = {};

/**
 * The style after one sequence. Other attributes than those of the type change nothing.
 *
 * @param parameters between `ESC [` and `m`
 * @example afterSgr({ bold: true }, "31") // { bold: true, color: 1 }
 */
export function afterSgr(before: TextStyle, parameters: string): TextStyle {
  const codes = parameters.split(/[;:]/).map(Number);
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

/** Color that `5;N` or `2;R;G;B` names, and how many numbers it takes. */
function extendedColor([kind, ...values]: readonly number[]): {
  readonly color?: number | string;
  readonly used: number;
} {
  const isByte = (value: number | undefined): value is number => value !== undefined && value >= 0 && value <= 255;
  if (kind === 5) return isByte(values[0]) ? { color: values[0], used: 2 } : { used: 2 };
  if (kind !== 2) return { used: 1 };
  const parts = values.slice(0, 3);
  if (parts.length < 3 || !parts.every(isByte)) return { used: 4 };
  return { color: `#${parts.map((value) => value.toString(16).padStart(2, "0")).join("")}`, used: 4 };
}

const SWITCHES: Readonly<Record<number, keyof TextStyle>> = { 1: "bold", 2: "dim", 3: "italic", 4: "underline" };

function afterCode(style: TextStyle, code: number): TextStyle {
  if (code === 0) return PLAIN_TEXT;
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
