/** The last lines of a process as they come, beside its state. */
import type { ComponentChildren, JSX } from "preact";
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { linesOf } from "../model/log-window.ts";
import { hashOf } from "../model/page-address.ts";
import { useObserved } from "../parts/app-context.ts";
import { LogLine } from "../parts/log-line.tsx";
import { usePager } from "../parts/use-pager.ts";

/** Lines that are shown. */
const LINES = 200;
/** Within this distance the end counts as in view. Pixels. */
const NEAR = 30;

type LogTailProps = { readonly id: string; readonly children: ComponentChildren };

/** `children`: what is below the lines. */
export function LogTail({ id, children }: LogTailProps): JSX.Element {
  const filter = useMemo(() => ({ processes: [id] }), [id]);
  const pager = usePager(filter);
  const lines = linesOf(useObserved(pager.window)).slice(-LINES);
  const { isFollowing, isLoading, problem } = useObserved(pager.state);
  const [isPaused, setPaused] = useState(false);
  const [open, setOpen] = useState(-1);
  const toggle = useCallback((key: number) => setOpen((before) => (before === key ? -1 : key)), []);
  const place = useRef<HTMLDivElement>(null);
  const toEnd = (): void => place.current?.scrollTo({ top: place.current.scrollHeight });
  useLayoutEffect(() => {
    if (!isPaused) toEnd();
  }, [lines.at(-1)?.key, isPaused]);
  const onScroll = (): void => {
    const { current: element } = place;
    if (element !== null) setPaused(element.scrollTop + element.clientHeight < element.scrollHeight - NEAR);
  };
  return (
    <section class="tail" aria-labelledby="tail-title">
      <div class="tail-head">
        <h2 id="tail-title">Log</h2>
        <span class={isPaused ? "follow-state paused" : "follow-state"}>
          {isPaused ? "Paused" : isFollowing ? "Following" : "…"}
        </span>
        {isPaused && (
          <button type="button" class="chip" onClick={() => setPaused(false)}>
            Follow
          </button>
        )}
        <a href={hashOf("logs", { process: id })}>Full log</a>
      </div>
      <div
        ref={place}
        class="log-lines wrapped"
        onScroll={onScroll}
        role="log"
        aria-label={`Last lines of ${id}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard (WCAG 2.1.1)
        tabIndex={0}
      >
        {lines.map(({ key, entry }) => (
          <LogLine
            key={key}
            lineKey={key}
            entry={entry}
            search=""
            isOpen={key === open}
            isCurrent={false}
            onToggle={toggle}
          />
        ))}
        {lines.length === 0 && <p class="empty">{problem ?? (isLoading ? "Loading …" : "No output yet.")}</p>}
      </div>
      {children}
    </section>
  );
}
