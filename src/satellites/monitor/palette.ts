/** Styles of the screen, with colors and without (NO_COLOR): attributes stay. */
import { colorOf } from "../../cli/output/format.ts";
import type { TextStyle } from "../../core/base/sgr.ts";
import type { Severity } from "../../core/contract/records.ts";
import type { CellStyle } from "./cell-buffer.ts";
import { cellStyleOf } from "./colored-text.ts";

export type Palette = {
  readonly title: CellStyle;
  readonly dim: CellStyle;
  readonly strong: CellStyle;
  readonly problem: CellStyle;
  readonly good: CellStyle;
  readonly question: CellStyle;
  readonly hit: CellStyle;
  readonly currentHit: CellStyle;
  readonly spark: CellStyle;
  /** Styles of ids: a process has always the same one. */
  readonly processes: readonly CellStyle[];
  readonly status: (record: Parameters<typeof colorOf>[0]) => CellStyle;
  /** Style of the output of programs. */
  readonly output: (style: TextStyle) => CellStyle;
  readonly severity: Readonly<Record<Severity, CellStyle>>;
};

const DIM = 2;

const PLAIN: Palette = {
  title: "1",
  dim: "2",
  strong: "1",
  problem: "1",
  good: "",
  question: "1;7",
  hit: "4",
  currentHit: "1;7",
  spark: "",
  processes: [""],
  status: (record) => (colorOf(record) === DIM ? "2" : ""),
  output: (style) => cellStyleOf(style, false),
  severity: { debug: "2", info: "2", warn: "", error: "1" },
};

const COLORED: Palette = {
  ...PLAIN,
  problem: "31",
  good: "32",
  question: "33;7",
  hit: "30;43",
  currentHit: "30;103",
  spark: "36",
  processes: ["36", "35", "34", "32", "33", "96", "95", "94"],
  status: (record) => String(colorOf(record)),
  output: (style) => cellStyleOf(style, true),
  severity: { debug: "2", info: "2", warn: "33", error: "31" },
};

export function paletteFor(colors: boolean): Palette {
  return colors ? COLORED : PLAIN;
}

export function reversed(style: CellStyle): CellStyle {
  return style === "" ? "7" : `${style};7`;
}
