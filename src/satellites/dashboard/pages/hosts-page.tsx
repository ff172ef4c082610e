/** The machines of `procman dashboard --host`: how each is, and the way to its page. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { HostLink, HostList, HostSummary } from "../../../core/contract/host-links.ts";
import { summaryOf } from "../model/host-list.ts";
import { ScrollArea } from "../parts/scroll-area.tsx";
import { RolloutBands } from "./rollout-band.tsx";

/** Interval of asking them; during a rollout. Milliseconds. */
const ASK_MS = 5_000;
const ROLLED_ASK_MS = 2_000;

export function HostsPage({ list }: { readonly list: HostList }): JSX.Element {
  const summaries = useSummaries(list.hosts);
  return (
    <>
      <h1>Hosts</h1>
      <RolloutBands list={list} summaries={summaries} />
      <ScrollArea name="Table of hosts">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Host</th>
              <th scope="col">Name</th>
              <th scope="col">Version</th>
              <th scope="col" class="number">
                Processes
              </th>
              <th scope="col">State</th>
            </tr>
          </thead>
          <tbody>
            {list.hosts.map((link) => (
              <HostRow
                key={link.host}
                link={link}
                summary={summaries.get(link.host)}
                isCurrent={link.host === list.current}
              />
            ))}
          </tbody>
        </table>
      </ScrollArea>
    </>
  );
}

type RowProperties = {
  readonly link: HostLink;
  readonly summary: HostSummary | undefined;
  readonly isCurrent: boolean;
};

function HostRow({ link: { host, url }, summary = { host }, isCurrent }: RowProperties): JSX.Element {
  const { name = "", version = "", total, problem } = summary;
  return (
    <tr>
      <th scope="row">
        <a href={isCurrent ? "#/" : url} aria-current={isCurrent ? "true" : undefined}>
          {host}
        </a>
      </th>
      <td>{name}</td>
      <td>{version}</td>
      <td class="number">{total}</td>
      <td class={problem === undefined ? "" : "problem"}>{stateOf(summary)}</td>
    </tr>
  );
}

function stateOf({ attention, problem }: HostSummary): string {
  if (problem !== undefined) return `no answer: ${problem}`;
  if (attention === undefined) return "…";
  return attention === 0 ? "all well" : attention === 1 ? "1 needs attention" : `${attention} need attention`;
}

/** Summaries of the hosts that have answered, or failed, so far. */
function useSummaries(hosts: readonly HostLink[]): ReadonlyMap<string, HostSummary> {
  const [summaries, setSummaries] = useState<ReadonlyMap<string, HostSummary>>(new Map());
  useEffect(() => {
    let isOpen = true;
    const ask = async (host: string): Promise<void> => {
      while (isOpen) {
        const summary = document.hidden ? undefined : await summaryOf(host, location.origin + location.pathname);
        if (isOpen && summary !== undefined) setSummaries((before) => new Map(before).set(host, summary));
        const { rollout } = summary ?? {};
        const isRolled = rollout !== undefined && rollout.ended === undefined;
        await new Promise((resolve) => setTimeout(resolve, isRolled ? ROLLED_ASK_MS : ASK_MS));
      }
    };
    for (const { host } of hosts) void ask(host);
    return () => {
      isOpen = false;
    };
  }, [hosts.map(({ host }) => host).join()]);
  return summaries;
}
