/** The log of one, several or all processes. */
import type { JSX, RefObject } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Client } from "../../../client/client.ts";
import type { LogEntry } from "../../../core/contract/records.ts";
import type { LogPager, ShownFilter } from "../model/log-pager.ts";
import { linesOf, newerCursor, olderCursor } from "../model/log-window.ts";
import { plainText } from "../parts/ansi.ts";
import { type AppParts, useApp, useObserved } from "../parts/app-context.ts";
import { nextHit } from "../parts/log-search.ts";
import { NoStoreText, useIsStored } from "../parts/no-store.tsx";
import { usePager } from "../parts/use-pager.ts";
import { filterOf, hashOfView, type LogPageView, viewIn } from "./log-filter.ts";
import { LogList, type LogListControl } from "./log-list.tsx";
import { LogToolbar } from "./log-toolbar.tsx";

/** There, long lines are wrapped at first. */
const PHONE = "(max-width: 760px)";

export function LogPage({ parameters }: { readonly parameters: URLSearchParams }): JSX.Element {
  const isStored = useIsStored();
  if (isStored) return <StoredLog parameters={parameters} />;
  return (
    <>
      <h1>Logs</h1>
      <NoStoreText what="The log" />
    </>
  );
}

function StoredLog({ parameters }: { readonly parameters: URLSearchParams }): JSX.Element {
  const app = useApp();
  const view = useMemo(() => viewIn(parameters), [parameters]);
  const [isWrapped, setWrapped] = useState(() => matchMedia(PHONE).matches);
  const filter = useMemo(() => filterOf(view), [view]);
  const pager = usePager(filter, view.at);
  const control = useRef<LogListControl>(null);
  const { current, hits, step } = useHits(pager, view, control);
  const toEnd = (): void => {
    if (pager.state.value.isFollowing) control.current?.scrollToEnd();
    else if (view.at !== undefined) replaceAddress({ ...view, at: undefined });
    else void pager.openEnd();
  };
  return (
    <>
      <h1 class="hidden">Logs</h1>
      <LogToolbar
        view={view}
        onView={(next) => replaceAddress(next)}
        isWrapped={isWrapped}
        onWrap={setWrapped}
        onStep={(direction) => void step(direction).catch((error: Error) => app.notices.refuse(error.message))}
        hits={hits}
        pager={pager}
        onEnd={toEnd}
        onCopy={() => void copy(pager, app)}
        onDownload={() => void save(view, app)}
      />
      <PagerProblem pager={pager} />
      <LogList
        key={JSON.stringify([filterOf(view), view.at])}
        pager={pager}
        search={view.search}
        isWrapped={isWrapped}
        current={current}
        control={control}
        startsAtTime={view.at !== undefined}
        isFiltered={Object.keys(filter).length > 0}
        onEnd={toEnd}
      />
    </>
  );
}

/** Each letter of a search would be a step back in the history otherwise. */
function replaceAddress(view: LogPageView): void {
  history.replaceState(null, "", hashOfView(view));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

type Hits = {
  readonly current: number | undefined;
  readonly hits: number;
  readonly step: (direction: 1 | -1) => Promise<void>;
};

/** Steps from hit to hit: through the loaded lines, then through all that are stored. */
function useHits(pager: LogPager, view: LogPageView, control: RefObject<LogListControl | null>): Hits {
  const app = useApp();
  const [current, setCurrent] = useState<number>();
  const window = useObserved(pager.window);
  const texts = useMemo(
    () => (view.search === "" ? [] : linesOf(window).map(({ entry }) => plainText(entry.text))),
    [window, view.search],
  );
  const hits = useMemo(
    () => texts.filter((text) => text.toLowerCase().includes(view.search.toLowerCase())).length,
    [texts, view.search],
  );
  const isAwaited = useRef(false);
  useEffect(() => {
    const first = linesOf(window)[0]?.key ?? 0;
    // The lines from the time of the hit have keys from 0.
    const found = isAwaited.current ? nextHit(texts, view.search, -first - 1, 1) : undefined;
    if (found === undefined) return;
    isAwaited.current = false;
    setCurrent(first + found);
  }, [window, texts, view.search]);
  const step = async (direction: 1 | -1): Promise<void> => {
    const first = linesOf(window)[0]?.key ?? 0;
    const from = current ?? control.current?.firstVisible() ?? first;
    const found = nextHit(texts, view.search, from - first, direction);
    if (found === undefined) {
      isAwaited.current = await beyond(app, { pager, view, direction });
      return;
    }
    setCurrent(first + found);
    control.current?.scrollTo(first + found);
  };
  return { current, hits, step };
}

type BeyondStep = { readonly pager: LogPager; readonly view: LogPageView; readonly direction: 1 | -1 };

/** Asks the service for the next hit outside of the loaded lines, and goes there. Resolves with whether there is one. */
async function beyond({ model, notices }: AppParts, { pager, view, direction }: BeyondStep): Promise<boolean> {
  const cursor = direction === 1 ? newerCursor(pager.window.value) : olderCursor(pager.window.value);
  const isAtEnd = direction === 1 ? pager.state.value.isFollowing : !pager.window.value.hasOlder;
  const query = { ...filterOf(view), search: view.search, order: direction === 1 ? "asc" : "desc", limit: 1 } as const;
  const { entries } = isAtEnd || cursor === undefined ? { entries: [] } : await model.client.logs({ ...query, cursor });
  const [entry] = entries;
  if (entry === undefined) notices.say(direction === 1 ? "No later match." : "No earlier match.");
  else replaceAddress({ ...view, at: Date.parse(entry.time) });
  return entry !== undefined;
}

function PagerProblem({ pager }: { readonly pager: LogPager }): JSX.Element | null {
  const { model } = useApp();
  const { problem } = useObserved(pager.state);
  const connection = useObserved(model.connection);
  // The banner says it.
  if (problem === undefined || connection.kind === "ended") return null;
  return (
    <p class="problem" role="alert">
      {problem}
    </p>
  );
}

async function copy(pager: LogPager, { notices }: AppParts): Promise<void> {
  const lines = linesOf(pager.window.value);
  try {
    await navigator.clipboard.writeText(lines.map(({ entry }) => textOfLine(entry)).join(""));
    notices.say(`${lines.length.toLocaleString("en")} lines copied.`);
  } catch (error) {
    notices.refuse(
      `Cannot copy: ${(error as Error).message}; browsers allow it only on this machine or over HTTPS. Download the lines instead.`,
    );
  }
}

async function save(view: LogPageView, { model, notices }: AppParts): Promise<void> {
  try {
    let total = 0;
    const blob = await exportedLog(model.client, filterOf(view), (count) => {
      total = count;
    });
    download(
      blob,
      `${model.state.value?.name ?? "procman"}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.log`,
    );
    notices.say(
      `${total.toLocaleString("en")} lines downloaded${total >= EXPORT_LIMIT ? ", the oldest; narrow the filter for the others" : ""}.`,
    );
  } catch (error) {
    notices.refuse(`Cannot download: ${(error as Error).message}`);
  }
}

const PAGE = 10_000;
/** Lines of a file, which the browser holds in memory. */
const EXPORT_LIMIT = 1_000_000;

function textOfLine({ time, severity, process, text }: LogEntry): string {
  return `${time} ${severity.padEnd(5)} ${process ?? "procman"} ${plainText(text)}\n`;
}

/** All lines of the filter, oldest first. `onCount`: is told how many are there so far. */
async function exportedLog(
  client: Pick<Client, "logs">,
  filter: ShownFilter,
  onCount: (count: number) => void,
): Promise<Blob> {
  const parts: Blob[] = [];
  let cursor: string | undefined;
  let count: number = 0;
  do {
    const { entries, next } = await client.logs({
      ...filter,
      order: "asc",
      limit: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    });
    parts.push(new Blob(entries.map(textOfLine)));
    count += entries.length;
    onCount(count);
    cursor = next;
  } while (cursor !== undefined && count < EXPORT_LIMIT);
  return new Blob(parts, { type: "text/plain" });
}

/** Lets the browser store it. */
function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
