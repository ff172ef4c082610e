/** The instances of a cluster, with what the load balancer counts. */
import type { JSX } from "preact";
import { age, size } from "../../../core/base/quantity.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { hashOf } from "../model/page-address.ts";
import { cpuText } from "../model/record-lists.ts";
import { ProcessActions } from "../parts/process-actions.tsx";
import { ScrollArea } from "../parts/scroll-area.tsx";
import { StateBadge } from "../parts/state-badge.tsx";

const COLUMNS: readonly (readonly [title: string, isNumber: boolean])[] = [
  ["Instance", false],
  ["State", false],
  ["Pid", true],
  ["Up", true],
  ["Restarts", true],
  ["CPU", true],
  ["Memory", true],
  ["Connections", true],
  ["Total", true],
  ["Received", true],
  ["Sent", true],
  ["Refused", true],
  ["Actions", false],
];

export function InstanceTable({
  record: { instances, balancer, socket },
  now,
}: {
  readonly record: ProcessRecord;
  readonly now: number;
}): JSX.Element | null {
  if (instances === undefined) return null;
  const port = balancer ?? socket;
  return (
    <section aria-labelledby="instances-title">
      <h2 id="instances-title">Instances</h2>
      {port !== undefined && (
        <p>
          Common port: {port.hostname}:{port.port}
          {balancer === undefined
            ? ""
            : `, ${balancer.strategy}; ${balancer.waiting} clients waiting, ${balancer.rejected} turned away`}
          {balancer?.problem === undefined ? "" : `. ${balancer.problem}`}
        </p>
      )}
      <ScrollArea name="Table of instances">
        <table class="plain">
          <thead>
            <tr>
              {COLUMNS.map(([title, isNumber]) => (
                <th key={title} scope="col" class={isNumber ? "number" : ""}>
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {instances.map((instance) => (
              <InstanceRow key={instance.id} instance={instance} now={now} />
            ))}
          </tbody>
        </table>
      </ScrollArea>
    </section>
  );
}

function InstanceRow({ instance, now }: { readonly instance: ProcessRecord; readonly now: number }): JSX.Element {
  const { id, pid, started, restarts, cpuPercent, memoryBytes, backend } = instance;
  const { connections, totalConnections, receivedBytes, sentBytes, refused } = backend ?? {};
  return (
    <tr>
      <th scope="row">
        <a href={hashOf("process", {}, id)}>{id}</a>
      </th>
      <td>
        <StateBadge record={instance} />
      </td>
      <td class="number">{pid}</td>
      <td class="number">{pid === undefined || started === undefined ? "" : age(now - Date.parse(started))}</td>
      <td class="number">{restarts}</td>
      <td class="number">{cpuText(cpuPercent)}</td>
      <td class="number">{memoryBytes === undefined ? "" : size(memoryBytes)}</td>
      <td class="number">{connections}</td>
      <td class="number">{totalConnections}</td>
      <td class="number">{receivedBytes === undefined ? "" : size(receivedBytes)}</td>
      <td class="number">{sentBytes === undefined ? "" : size(sentBytes)}</td>
      <td class="number">{refused}</td>
      <td>
        <ProcessActions record={instance} />
      </td>
    </tr>
  );
}
