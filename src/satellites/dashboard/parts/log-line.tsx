/** One line of the log. Its text is only ever text. */

import type { JSX } from "preact";
import { compact } from "../../../core/base/compact.ts";
import type { TextStyle } from "../../../core/base/sgr.ts";
import { hostStamp } from "../../../core/base/time-stamp.ts";
import { fieldsOf, type LineFields, leadingLevel } from "../../../core/contract/line-fields.ts";
import type { LogEntry } from "../../../core/contract/records.ts";
import { hueOf } from "./hues.ts";
import { Icon } from "./icons.tsx";
import {
  isFoldable,
  jsonLines,
  type LinePiece,
  OPEN_CHARACTERS,
  paletteColor,
  piecesOf,
  SHOWN_CHARACTERS,
} from "./line-pieces.ts";
import { memo } from "./memo.ts";

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
  const canFold = json !== undefined || text.length > SHOWN_CHARACTERS;
  // Hits are marked in the line as it was written.
  const fields = search !== "" && text.toLowerCase().includes(search.toLowerCase()) ? undefined : fieldsOf(text);
  // The beginning of a text that says nothing to the store is a hint for the eye.
  const isSaid = fields !== undefined || severity !== (category === "stderr" ? "error" : "info");
  const shown = isSaid ? severity : (leadingLevel(text) ?? severity);
  return (
    <div class={`line ${shown}${isCurrent ? " current" : ""}${isFoldable(text) ? " foldable" : ""}`} data-key={lineKey}>
      <div class="line-row">
        {canFold ? <FoldButton isOpen={isOpen} onClick={() => onToggle(lineKey)} /> : <span class="fold" />}
        <time dateTime={time} title={hostStamp(Date.parse(time))}>
          {hostStamp(Date.parse(time)).slice(11, 19)}
          <span class="fraction">{hostStamp(Date.parse(time)).slice(19, 23)}</span>
        </time>
        <span
          class={`who hue-${process === undefined ? "none" : hueOf(process)}`}
          title={`${process ?? "procman"}, ${category}, ${severity}`}
        >
          {process ?? "procman"}
        </span>
        <span class="text" dir="ltr">
          {fields === undefined ? (
            <PlainText text={text} search={search} isOpen={isOpen} />
          ) : (
            <FieldText fields={fields} severity={severity} isOpen={isOpen} />
          )}
        </span>
      </div>
      {isOpen && json !== undefined && <pre class="json">{json.join("\n")}</pre>}
    </div>
  );
});

/** The line as it was written. */
function PlainText({
  text,
  search,
  isOpen,
}: Pick<LogLineProps, "search" | "isOpen"> & { readonly text: string }): JSX.Element {
  const { pieces, hidden } = piecesOf(text, search, isOpen ? OPEN_CHARACTERS : SHOWN_CHARACTERS);
  return (
    <>
      {pieces.map((piece, index) => (
        <Piece key={index} piece={piece} />
      ))}
      {hidden > 0 && <span class="hidden-rest"> … {hidden.toLocaleString("en")} more characters</span>}
    </>
  );
}

/** A line of JSON: level, message, and the other members. */
function FieldText({
  fields: { hasLevel, message, rest },
  severity,
  isOpen,
}: Pick<LogLineProps, "isOpen"> & Pick<LogEntry, "severity"> & { readonly fields: LineFields }): JSX.Element {
  const plain = (text: string): JSX.Element => <PlainText text={text} search="" isOpen={isOpen} />;
  return (
    <>
      {hasLevel && <b class={`level ${severity}`}>{severity.toUpperCase()} </b>}
      {plain(message)}
      {rest.map(([name, value]) => (
        <span key={name} class="field-pair">
          {" "}
          <span class="field-name">{plain(`${name}=`)}</span>
          {plain(value)}
        </span>
      ))}
    </>
  );
}

function FoldButton({ isOpen, onClick }: { readonly isOpen: boolean; readonly onClick: () => void }): JSX.Element {
  return (
    <button
      type="button"
      class={isOpen ? "fold open" : "fold"}
      aria-expanded={isOpen}
      aria-label="Show the whole line"
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
