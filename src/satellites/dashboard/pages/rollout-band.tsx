/** A rollout over several hosts, above the table of hosts: how far each is, and the commands that end it. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { HostList, HostSummary } from "../../../core/contract/host-links.ts";
import { type ShownRollout, shownRollouts } from "../model/shown-rollouts.ts";
import { useApp, useNow } from "../parts/app-context.ts";
import { Icon } from "../parts/icons.tsx";
import { Moment } from "../parts/moments.tsx";
import { ToneSign } from "../parts/state-badge.tsx";

/** In the storage of the tab: the id of the one that was dismissed. */
const DISMISSED = "procman-rollout-dismissed";

type RolloutBandsProps = { readonly list: HostList; readonly summaries: ReadonlyMap<string, HostSummary> };

export function RolloutBands({ list, summaries }: RolloutBandsProps): JSX.Element {
  const now = useNow(1_000);
  const [dismissed, setDismissed] = useState(() => sessionStorage.getItem(DISMISSED));
  const dismiss = (id: string): void => {
    sessionStorage.setItem(DISMISSED, id);
    setDismissed(id);
    document.getElementById("main")?.focus();
  };
  const shown = shownRollouts(list.hosts, summaries, now).filter(({ id, isOver }) => !isOver || id !== dismissed);
  return (
    <>
      {shown.map((rollout) => (
        <RolloutBand key={rollout.id} rollout={rollout} current={list.current} now={now} onDismiss={dismiss} />
      ))}
    </>
  );
}

type RolloutBandProps = {
  readonly rollout: ShownRollout;
  readonly current: string;
  readonly now: number;
  readonly onDismiss: (id: string) => void;
};

function RolloutBand({ rollout, current, now, onDismiss }: RolloutBandProps): JSX.Element {
  const { id, what, by, time, isOver, progress, text, tone, parts } = rollout;
  return (
    <section class={`rollout ${tone}`} aria-labelledby={id}>
      <header>
        <h2 id={id}>{what}</h2>
        {isOver && (
          <button type="button" class="icon-button" aria-label={`Dismiss: ${what}`} onClick={() => onDismiss(id)}>
            <Icon name="close" />
          </button>
        )}
      </header>
      <p>
        <span role="status">
          <span class={`badge ${tone}`}>
            <ToneSign tone={tone} />
            {text}
          </span>{" "}
          {progress}
        </span>
        <span class="muted">
          {" "}
          Rollout {id}, by {by}, begun <Moment time={time} now={now} />
        </span>
      </p>
      <ul>
        {parts.map((part) => (
          <li key={part.host}>
            {part.link === undefined ? (
              <b>{part.host}</b>
            ) : (
              <a href={part.link.host === current ? "#/" : part.link.url}>{part.host}</a>
            )}
            <span class={`badge ${part.tone}`}>
              <ToneSign tone={part.tone} />
              {part.text}
            </span>
            {part.detail !== undefined && <span class="detail">{part.detail}</span>}
          </li>
        ))}
      </ul>
      {!isOver && ["continue", "abort"].map((word) => <Typed key={word} command={`procman rollout ${word} ${id}`} />)}
    </section>
  );
}

/** A command to type: a page can't continue or abort a rollout, as its client may have to drain the hosts. */
function Typed({ command }: { readonly command: string }): JSX.Element {
  const { notices } = useApp();
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(command);
      notices.say(`Copied: ${command}`);
    } catch (error) {
      notices.refuse(`Cannot copy: ${(error as Error).message}; select the text of the command instead.`);
    }
  };
  return (
    <p class="typed">
      <code>{command}</code>
      <button type="button" class="quiet" aria-label={`Copy ${command}`} onClick={() => void copy()}>
        Copy
      </button>
    </p>
  );
}
