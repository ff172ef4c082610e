/** The configurations that were applied, each with what it changed in the files. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { HistoryDiff, HistoryEntry } from "../../../core/contract/history-record.ts";
import { changeText, hunkPlace, requesterText, resultText } from "../../../core/contract/history-words.ts";
import { useApp, useNow } from "../parts/app-context.ts";
import { Moment } from "../parts/moments.tsx";
import { ScrollArea } from "../parts/scroll-area.tsx";
import { useChanges } from "../parts/use-changes.ts";

const CLOCK_MS = 5_000;

export function HistoryList(): JSX.Element | null {
  const { entries, problem } = useChanges();
  const now = useNow(CLOCK_MS);
  if (problem !== undefined) return <p class="problem">{problem}</p>;
  if (entries.length === 0) return null;
  return (
    <section aria-labelledby="history">
      <h2 id="history">History</h2>
      <ul class="history">
        {entries.map((entry, index) => (
          <HistoryItem key={entry.number} entry={entry} before={soundBefore(entries, index)} now={now} />
        ))}
      </ul>
    </section>
  );
}

/** The configuration that was in force before. */
function soundBefore(entries: readonly HistoryEntry[], index: number): HistoryEntry | undefined {
  return entries.slice(index + 1).find(({ result }) => result === "applied");
}

type ItemProps = { readonly entry: HistoryEntry; readonly before: HistoryEntry | undefined; readonly now: number };

function HistoryItem({ entry, before, now }: ItemProps): JSX.Element {
  const { model } = useApp();
  const [answer, setAnswer] = useState<{ readonly diff?: HistoryDiff; readonly problem?: string }>();
  const { number, time, result } = entry;
  const load = async (): Promise<void> => {
    if (answer !== undefined || before === undefined) return;
    try {
      setAnswer({ diff: await model.client.diff(String(before.number), String(number)) });
    } catch (error) {
      setAnswer({ problem: (error as Error).message });
    }
  };
  const isOpenable = before !== undefined && result !== "damaged";
  const head = (
    <>
      <b>{number}</b> <Moment time={time} now={now} /> {requesterText(entry)}{" "}
      <span class={`result-${result}`}>{resultText(entry)}</span> {changeText(entry)}
    </>
  );
  if (!isOpenable) return <li>{head}</li>;
  return (
    <li>
      <details onToggle={() => void load()}>
        <summary>{head}</summary>
        {answer?.problem !== undefined && <p class="problem">{answer.problem}</p>}
        {answer?.diff !== undefined && <DiffView diff={answer.diff} />}
      </details>
    </li>
  );
}

function DiffView({ diff: { from, to, files } }: { readonly diff: HistoryDiff }): JSX.Element {
  if (files.length === 0) return <p class="muted">The files have the same text as those of entry {from}.</p>;
  return (
    <>
      {files.map(({ file, change, hunks }) => (
        <ScrollArea key={file} name={`Changes of ${file} from ${from} to ${to}`} className="lines">
          <pre class="diff">
            {`${file}${change === "changed" ? "" : ` (${change})`}\n`}
            {hunks.flatMap((hunk) => [
              <span key={hunkPlace(hunk)} class="place">{`${hunkPlace(hunk)}\n`}</span>,
              ...hunk.lines.map((line, index) => (
                <span key={`${hunkPlace(hunk)} ${index}`} class={CLASSES[line.charAt(0)]}>{`${line}\n`}</span>
              )),
            ])}
          </pre>
        </ScrollArea>
      ))}
    </>
  );
}

const CLASSES: Readonly<Record<string, string>> = { "-": "removed", "+": "added" };
