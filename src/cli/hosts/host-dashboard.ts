/** `procman dashboard --host`: the dashboards of other machines, as long as the command runs. */
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProcmanError } from "../../base/errors.ts";
import { showLink } from "../dashboard-link.ts";
import { withProgress } from "../progress.ts";
import { doorTo, type HostDoor } from "./host-door.ts";
import { hostsNamed } from "./host-file.ts";
import { HostGateway } from "./host-gateway.ts";

/** Of a code. Seconds. */
const CODE_SECONDS = 30;
const ENDING = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

type HostDashboardOptions = { readonly scope: string | undefined; readonly open: boolean };

/** Ends by Ctrl-C. @throws {ProcmanError} `usage`; `service-down`: no machine answers */
export async function showHosts(names: string, { scope, open }: HostDashboardOptions): Promise<void> {
  const hosts = hostsNamed(names);
  const folder = mkdtempSync(join(tmpdir(), "procman-hosts-"));
  const doors = await withProgress(() => `connecting to ${names}`, Promise.all(hosts.map((host) => doorTo(host, folder, scope))));
  const gateway = new HostGateway(new Map(doors.map((door) => [door.name, door])));
  try {
    const answering = doors.find(({ code }) => code !== undefined);
    if (answering === undefined) throw new ProcmanError("service-down", doors.map(({ problem = "" }) => problem).join("\n"));
    for (const { problem } of doors) if (problem !== undefined) process.stderr.write(`procman: ${problem}\n`);
    const port = await gateway.listen();
    const url = `http://127.0.0.1:${port}/${encodeURIComponent(answering.name)}/`;
    const link = `${url}#code=${answering.code}${doors.length > 1 ? `&hosts=${doors.map(entryOf).join(",")}` : ""}`;
    const command = `procman dashboard --host ${names}`;
    await showLink({ url, link, expiresInSeconds: CODE_SECONDS, command, folder, hostname: "127.0.0.1", port }, open);
    process.stdout.write("Ctrl-C ends the connection.\n");
    await Promise.race(ENDING.map((signal) => once(process, signal)));
  } finally {
    gateway.close();
    for (const door of doors) door.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function entryOf({ name, code }: HostDoor): string {
  return code === undefined ? encodeURIComponent(name) : `${encodeURIComponent(name)}:${code}`;
}
