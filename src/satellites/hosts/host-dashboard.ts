/** `procman dashboard --host`: the dashboards of other machines, as long as the command runs. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { showLink } from "../../cli/output/dashboard-link.ts";
import { withProgress } from "../../cli/output/progress.ts";
import { hostsNamed } from "../../client/connection/host-file.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printable } from "../../core/base/printable.ts";
import type { HostList, HostSummary } from "../../core/contract/host-links.ts";
import { dashboardFiles } from "../../core/http/dashboard-files.ts";
import { CODE_SECONDS } from "../../core/http/sign-in-codes.ts";
import { clientFolder } from "./client-folder.ts";
import { HostGateway, unknown } from "./host-gateway.ts";
import { summaryOf } from "./host-summary.ts";
import { type HostUpstream, upstreamTo } from "./host-upstream.ts";

const ENDING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

type HostDashboardOptions = { readonly scope: string | undefined; readonly open: boolean };

/** Ends by Ctrl-C. @throws {ProcmanError} `usage`; `service-down`: no machine answers */
export async function showHosts(names: string, { scope, open }: HostDashboardOptions): Promise<void> {
  const folder = clientFolder("hosts");
  const upstreams = hostsNamed(names).map((host, index) => upstreamTo(host, join(folder, `${index}.sock`), { scope }));
  const gateways = new Map<HostUpstream, HostGateway>();
  try {
    const files = await dashboardFiles(join(import.meta.dirname, "dashboard"));
    const first = await withProgress(() => `connecting to ${names}`, firstAnswering(upstreams));
    const summary = async (name: string): Promise<HostSummary> =>
      summaryOf(upstreams.find((upstream) => upstream.name === name) ?? nowhere());
    for (const upstream of upstreams) {
      const hosts = (): HostList | undefined => listOf(upstream, gateways);
      gateways.set(upstream, new HostGateway({ upstream, files, hosts, summary }));
    }
    await Promise.all([...gateways.values()].map((gateway) => gateway.listen()));
    const gateway = gateways.get(first) as HostGateway;
    const { url } = gateway;
    const command = `procman dashboard --host ${names}`;
    const ports = [...gateways.values()].map(({ port }) => port);
    await showLink(
      { url, link: gateway.link(), expiresInSeconds: CODE_SECONDS, command, folder, hostname: "127.0.0.1", ports },
      open,
    );
    process.stdout.write("Ctrl-C ends the connection.\n");
    await Promise.race(ENDING.map((signal) => once(process, signal)));
  } finally {
    for (const gateway of gateways.values()) gateway.close();
    for (const upstream of upstreams) upstream.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Says why others don't answer. */
async function firstAnswering(upstreams: readonly HostUpstream[]): Promise<HostUpstream> {
  const tokens = await Promise.allSettled(upstreams.map((upstream) => upstream.token()));
  const problems = tokens.flatMap((token) => (token.status === "rejected" ? [token.reason as Error] : []));
  const first = upstreams[tokens.findIndex(({ status }) => status === "fulfilled")];
  if (first === undefined) throw new ProcmanError("service-down", problems.map(({ message }) => message).join("\n"));
  for (const { message } of problems) process.stderr.write(`procman: ${printable(message)}\n`);
  return first;
}

function nowhere(): never {
  throw unknown();
}

/** One machine is shown alone. */
function listOf(shown: HostUpstream, gateways: ReadonlyMap<HostUpstream, HostGateway>): HostList | undefined {
  if (gateways.size < 2) return undefined;
  return {
    current: shown.name,
    hosts: [...gateways].map(([{ name: host }, { url }]) => ({ host, url: `${url}enter` })),
  };
}
