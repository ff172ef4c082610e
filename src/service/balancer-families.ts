/** Numbers of the load balancer, by the names that Prometheus gets. */
import type { BackendRecord, BalancerRecord, ProcessRecord } from "../contract/records.ts";
import type { Family } from "../telemetry/prometheus.ts";

/** Of instances, and of the clusters that they belong to; counters begin anew with each balancer. */
export function balancerFamilies(records: readonly ProcessRecord[]): readonly Family[] {
  const instances = records.flatMap((record) => record.instances ?? []);
  const family = (name: string, type: Family["type"], help: string, value: (backend: BackendRecord) => number): Family => ({
    name: `procman_backend_${name}`,
    type,
    help,
    values: instances.flatMap(({ id, cluster = "", backend }) =>
      backend === undefined ? [] : [[{ process: id, cluster }, value(backend)] as const],
    ),
  });
  const front = (name: string, type: Family["type"], help: string, value: (balancer: BalancerRecord) => number): Family => ({
    name: `procman_balancer_${name}`,
    type,
    help,
    values: records.flatMap(({ id, balancer }) => (balancer === undefined ? [] : [[{ cluster: id }, value(balancer)] as const])),
  });
  return [
    family("accepting", "gauge", "1 while the instance gets connections.", ({ accepting }) => (accepting ? 1 : 0)),
    family("connections", "gauge", "Open connections through the load balancer.", ({ connections }) => connections),
    family("connections_total", "counter", "Connections through the load balancer.", ({ totalConnections }) => totalConnections),
    family("received_bytes_total", "counter", "Bytes from clients.", ({ receivedBytes }) => receivedBytes),
    family("sent_bytes_total", "counter", "Bytes to clients.", ({ sentBytes }) => sentBytes),
    family("refused_total", "counter", "Connections that the instance refused; each client got another one.", ({ refused }) => refused),
    front("listening", "gauge", "1 while the load balancer listens on the common port.", ({ problem }) => (problem === undefined ? 1 : 0)),
    front("waiting", "gauge", "Clients that wait for an instance.", ({ waiting }) => waiting),
    front("rejected_total", "counter", "Clients that waited in vain, or were turned away.", ({ rejected }) => rejected),
  ];
}
