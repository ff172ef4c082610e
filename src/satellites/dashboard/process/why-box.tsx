/** Why a process is in its state: one sentence and the error that it printed; the rest of `procman why` folds open. */
import type { JSX } from "preact";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { type Incident, isRunEnd } from "../../../core/contract/run-summary.ts";
import { adviceOf, explain, explainCluster } from "../../../core/contract/why.ts";
import { errorLineOf } from "../model/error-line.ts";
import { countOf, isWanted } from "../model/incident-groups.ts";
import { worstToneOf } from "../model/record-lists.ts";
import { Moment } from "../parts/moments.tsx";

/** Incidents older than this aren't counted, as in `procman why`. Milliseconds. */
const RECENT_MS = 24 * 3_600_000;

type WhyBoxProps = {
  readonly record: ProcessRecord;
  /** Newest first. */
  readonly incidents: readonly Incident[];
  readonly now: number;
};

export function WhyBox({ record, incidents, now }: WhyBoxProps): JSX.Element {
  const isBad = worstToneOf(record) === "bad";
  const sentences = explain(record, incidents, now);
  const unwanted = incidents
    .filter(isRunEnd)
    .filter((each) => !isWanted(each) && now - Date.parse(each.time) < RECENT_MS);
  const [last] = unwanted;
  const errorLine = last === undefined ? undefined : errorLineOf(last);
  return (
    <div class={isBad ? "why bad" : "why"}>
      <p>{sentences[0]}</p>
      {explainCluster(
        record,
        incidents.filter((each) => !isRunEnd(each)),
        now,
      )
        .slice(1)
        .map((text) => (
          <p key={text} class="muted">
            {text}
          </p>
        ))}
      {last !== undefined && errorLine !== undefined && <p class="error-line">{errorLine}</p>}
      {last !== undefined && (
        <p class="muted">
          {endsText(countOf(unwanted))}, the last <Moment time={last.time} now={now} />.{" "}
          {isBad && adviceOf(record, last).join(" ")}
        </p>
      )}
      {sentences.length > 1 && last !== undefined && (
        <details>
          <summary>Last lines and details</summary>
          {blocksOf(sentences.slice(1)).map((block) =>
            block.startsWith("  ") ? <pre key={block}>{block}</pre> : <p key={block}>{block}</p>,
          )}
        </details>
      )}
    </div>
  );
}

function endsText(count: number): string {
  return `${count === 1 ? "1 unexpected exit" : `${count} unexpected exits`} in 24 hours`;
}

/** Sentences, and neighbouring lines of the program together. */
function blocksOf(sentences: readonly string[]): readonly string[] {
  const blocks: string[] = [];
  for (const sentence of sentences) {
    const before = blocks.at(-1);
    if (sentence.startsWith("  ") && before?.startsWith("  ")) blocks.splice(-1, 1, `${before}\n${sentence}`);
    else blocks.push(sentence);
  }
  return blocks;
}
