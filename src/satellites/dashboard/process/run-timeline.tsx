/** The runs of a process over time, with the incidents that ended them. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { printableOutput } from "../../../core/base/printable.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import type { Incident } from "../../../core/contract/run-summary.ts";
import { IncidentDetails } from "../parts/incident-details.tsx";
import { clockText } from "../parts/moments.tsx";
import { type EndMark, marksOf, spansOf } from "./run-spans.ts";
import { ticksIn, tickText, timeTicks } from "./time-ticks.ts";

/** Width of a mark, and of what is around the time line, as in the style sheet. Pixels. */
const MARK = 26;
const AROUND = { wide: 142, narrow: 126 } as const;
const NARROW = 760;
const WIDEST = 1_680;
/** Last lines in the text that is shown for an incident. */
const LINES_SHOWN = 3;

type RunTimelineProps = {
  readonly record: ProcessRecord;
  readonly incidents: readonly Incident[];
  readonly now: number;
  readonly rangeMs: number;
};

export function RunTimeline({ record, incidents, now, rangeMs }: RunTimelineProps): JSX.Element {
  const [shown, setShown] = useState<readonly Incident[]>([]);
  const spans = spansOf(record, incidents, { now, rangeMs });
  const percent = (time: number): string => `${(((time - now + rangeMs) / rangeMs) * 100).toFixed(3)}%`;
  const width = Math.min(innerWidth, WIDEST) - (innerWidth > NARROW ? AROUND.wide : AROUND.narrow);
  const places = Math.floor(width / MARK);
  const ticks = timeTicks((now - rangeMs) / 1_000, now / 1_000, ticksIn(width));
  return (
    <section class="chart runs" aria-labelledby="runs-title">
      <h2 id="runs-title">
        Runs <RunLegend hasMarks={spans.some(({ incident }) => incident !== undefined)} />
      </h2>
      <div class="timeline">
        {spans.map((span) => (
          <span
            key={`${span.from} ${span.to} ${span.incident?.run ?? ""}`}
            class={span.isBad ? "span bad" : "span"}
            style={{ left: percent(span.from), width: `calc(${percent(now - rangeMs + span.to - span.from)} - 1px)` }}
          />
        ))}
        {marksOf(spans, { now, rangeMs, places }).map((mark) => (
          <IncidentMark key={mark.at} mark={mark} left={percent(mark.at)} now={now} onShow={setShown} />
        ))}
      </div>
      <div class="timeline-scale" aria-hidden="true">
        {ticks.times.map((time) => (
          <span key={time} style={{ left: percent(time * 1_000) }}>
            {tickText(time, ticks.step)}
          </span>
        ))}
      </div>
      {spans.length === 0 && <p class="empty">It did not run in this period.</p>}
      {shown.map((incident) => (
        <IncidentDetails key={`${incident.time} ${incident.run}`} incident={incident} />
      ))}
    </section>
  );
}

function RunLegend({ hasMarks }: { readonly hasMarks: boolean }): JSX.Element {
  return (
    <span class="run-legend">
      <span>
        <i class="span-sign" /> runs
      </span>
      {hasMarks && (
        <>
          <span>
            <i class="mark-sign bad" /> unexpected exit
          </span>
          <span>
            <i class="mark-sign" /> requested stop
          </span>
          <span>numbers count exits close together</span>
        </>
      )}
    </span>
  );
}

type IncidentMarkProps = {
  readonly mark: EndMark;
  readonly left: string;
  readonly now: number;
  readonly onShow: (incidents: readonly Incident[]) => void;
};

function IncidentMark({ mark: { incidents, isBad }, left, now, onShow }: IncidentMarkProps): JSX.Element {
  const [newest] = incidents;
  const what =
    newest === undefined ? "" : `${clockText(Date.parse(newest.time), now)}: run ${newest.run} ${newest.reason}`;
  const more = incidents.length > 1 ? ` (and ${incidents.length - 1} before)` : "";
  const lines = (newest?.lines ?? []).slice(-LINES_SHOWN).map(({ text }) => printableOutput(text, false));
  const label = `Incident at ${what}${more}`;
  return (
    <button
      type="button"
      class={isBad ? "mark bad" : "mark"}
      style={{ left }}
      title={[`${what}${more}`, ...lines].join("\n")}
      aria-label={label}
      onClick={() => onShow(incidents)}
    >
      {incidents.length > 1 && <span>{incidents.length}</span>}
    </button>
  );
}
