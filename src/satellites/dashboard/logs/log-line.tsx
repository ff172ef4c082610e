/** One line of the log. Its text is only ever text. */

import type { JSX } from "preact";
import { compact } from "../../../core/base/compact.ts";
import type { TextStyle } from "../../../core/base/sgr.ts";
import { hostStamp } from "../../../core/base/time-stamp.ts";
import type { LogEntry } from "../../../core/contract/records.ts";
import { Icon } from "../parts/icons.tsx";
import { memo } from "../parts/memo.ts";
import { jsonLines, type LinePiece, OPEN_CHARACTERS, paletteColor, piecesOf, SHOWN_CHARACTERS } from "./line-pieces.ts";

/** Colours of process names in the style sheet. */
const HUES = 8;

type LogLineProps = {
  readonly entry: LogEntry;
  readonly lineKey: number;
  readonly search: string;
  readonly isOpen: boolean;
  /** The hit that was stepped to is here. */
  readonly isCurrent: boolean;
  readonly onToggle: (key: number) => void;
};

export const LogLine = memo(function LogLine({
  entry,
  lineKey,
  search,
  isOpen,
  isCurrent,
  onToggle,
}: LogLineProps): JSX.Element {
  const { process, time, severity, category, text } = entry;
  const json = jsonLines(text);
  const { pieces, hidden } = piecesOf(text, search, isOpen ? OPEN_CHARACTERS : SHOWN_CHARACTERS);
  const isFoldable = json !== undefined || hidden > 0 || (isOpen && text.length > SHOWN_CHARACTERS);
  return (
    <div class={`line ${severity}${isCurrent ? " current" : ""}`} data-key={lineKey}>
      <div class="line-row">
        {isFoldable ? <FoldButton isOpen={isOpen} onClick={() => onToggle(lineKey)} /> : <span class="fold" />}
        <time dateTime={time} title={time}>
          {hostStamp(Date.parse(time)).slice(11, 23)}
        </time>
        <span
          class={`who hue-${process === undefined ? "none" : hueOf(process)}`}
          title={`${process ?? "procman"}, ${category}, ${severity}`}
        >
          {process ?? "procman"}
        </span>
        <span class="text" dir="ltr">
          {pieces.map((piece, index) => (
            <Piece key={index} piece={piece} />
          ))}
          {hidden > 0 && <span class="hidden-rest"> … {hidden.toLocaleString("en")} more characters</span>}
        </span>
      </div>
      {isOpen && json !== undefined && <pre class="json">{json.join("\n")}</pre>}
    </div>
  );
});

function FoldButton({ isOpen, onClick }: { readonly isOpen: boolean; readonly onClick: () => void }): JSX.Element {
  return (
    <button
      type="button"
      class={isOpen ? "fold open" : "fold"}
      aria-expanded={isOpen}
      aria-label="Show all of this line"
      onClick={onClick}
    >
      <Icon name="right" />
    </button>
  );
}

function Piece({ piece: { text, style, isHit, isControl } }: { readonly piece: LinePiece }): JSX.Element | string {
  const content = isHit ? <mark>{text}</mark> : text;
  const isPlain = Object.keys(style).length === 0 && isControl !== true;
  if (isPlain) return content;
  return (
    <span class={classesOf(style, isControl)} style={colorsOf(style)}>
      {content}
    </span>
  );
}

function classesOf(
  { color, background, bold, dim, italic, underline }: TextStyle,
  isControl: true | undefined,
): string {
  return [
    ...(isControl ? ["control"] : []),
    ...(typeof color === "number" && color < 16 ? [`c${color}`] : []),
    ...(typeof background === "number" && background < 16 ? [`b${background}`] : []),
    ...(bold ? ["bold"] : []),
    ...(dim ? ["dim"] : []),
    ...(italic ? ["italic"] : []),
    ...(underline ? ["underline"] : []),
  ].join(" ");
}

/** Set by script, which the content security policy allows. */
function colorsOf({ color, background }: TextStyle): Readonly<Record<string, string>> {
  const front = cssColor(color);
  const back = cssColor(background);
  return compact({ color: front, backgroundColor: back });
}

function cssColor(color: number | string | undefined): string | undefined {
  if (typeof color === "number") return color < 16 ? undefined : paletteColor(color);
  return color;
}

function hueOf(process: string): number {
  let hash = 0;
  // The instances of a cluster have one colour.
  for (const character of process.replace(/-\d+$/, "")) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 65_521;
  return hash % HUES;
}
