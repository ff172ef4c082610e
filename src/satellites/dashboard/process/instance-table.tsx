/** The instances of a cluster, with what the load balancer counts. */
import type { JSX } from "preact";
import { size } from "../../../core/base/quantity.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { hashOf } from "../model/page-address.ts";
import { ProcessActions } from "../parts/process-actions.tsx";
import { ScrollArea } from "../parts/scroll-area.tsx";
import { StateBadge } from "../parts/state-badge.tsx";

export function InstanceTable({
  record: { instances, balancer, socket },
}: {
  readonly record: ProcessRecord;
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
            : `, ${balancer.strategy}; ${balancer.waiting} clients wait, ${balancer.rejected} were turned away`}
          {balancer?.problem === undefined ? "" : `. ${balancer.problem}`}
        </p>
      )}
      <ScrollArea name="Table of instances">
        <table class="plain">
          <thead>
            <tr>
              {[
                "Instance",
                "State",
                "Pid",
                "CPU",
                "Memory",
                "Connections",
                "In all",
                "Received",
                "Sent",
                "Refused",
                "Actions",
              ].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {instances.map((instance) => (
              <InstanceRow key={instance.id} instance={instance} />
            ))}
          </tbody>
        </table>
      </ScrollArea>
    </section>
  );
}

function InstanceRow({ instance }: { readonly instance: ProcessRecord }): JSX.Element {
  const { id, pid, cpuPercent, memoryBytes, backend } = instance;
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
      <td class="number">{cpuPercent === undefined ? "" : `${cpuPercent.toFixed(1)} %`}</td>
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
