/** The machines of `procman dashboard --host`: each has its own origin, whose page is signed in by the address of the machine. */
import { errorOf } from "../../../client/transport.ts";
import { HOSTS_META, type HostList, type HostSummary } from "../../../core/contract/host-links.ts";

/** undefined: the page shows one procman alone. */
export function hostList(): HostList | undefined {
  const content = document.querySelector(`meta[name="${HOSTS_META}"]`)?.getAttribute("content");
  return content ? (JSON.parse(content) as HostList) : undefined;
}

/** The address that shows this page of a machine. */
export function addressOf({ url }: HostList["hosts"][number], hash: string): string {
  return hash === "" ? url : `${url}?page=${encodeURIComponent(hash)}`;
}

/** Never rejects. `base`: address of the page. */
export async function summaryOf(host: string, base: string): Promise<HostSummary> {
  try {
    const reply = await fetch(`${base}hosts?host=${encodeURIComponent(host)}`);
    if (reply.status !== 200) throw errorOf(reply.status, await reply.text());
    return (await reply.json()) as HostSummary;
  } catch (error) {
    return { host, problem: (error as Error).message };
  }
}
