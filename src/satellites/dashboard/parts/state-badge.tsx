/** The state of a process: a sign with a shape for each tone, and the status in words. */
import type { JSX } from "preact";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { statusText, type Tone, toneOf } from "../model/record-lists.ts";

export function ToneSign({ tone }: { readonly tone: Tone }): JSX.Element {
  return (
    <svg class={`sign ${tone}`} viewBox="0 0 12 12" aria-hidden="true">
      {tone === "bad" ? (
        <path d="M6 1.2 11.4 10.8H.6z" />
      ) : tone === "quiet" ? (
        <circle cx="6" cy="6" r="3.6" class="ring" />
      ) : tone === "busy" ? (
        <>
          <circle cx="6" cy="6" r="4.3" class="ring" />
          <path d="M6 1.7a4.3 4.3 0 0 1 0 8.6z" />
        </>
      ) : (
        <circle cx="6" cy="6" r="4.6" />
      )}
    </svg>
  );
}

export function StateBadge({ record }: { readonly record: ProcessRecord }): JSX.Element {
  const tone = toneOf(record);
  return (
    <span class={`badge ${tone}`}>
      <ToneSign tone={tone} />
      {statusText(record)}
    </span>
  );
}
