/** Connects a command to the running procman; on a terminal, shows that it waits for its service, if that was killed. */
import type { Client } from "../client/client.ts";
import { locate } from "../config/find-config.ts";
import { connectTo } from "../connection/connect.ts";
import { withProgress } from "./progress.ts";

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export function connect(config: string | undefined): Promise<Client> {
  return withProgress(() => "waiting for the service of procman", connectTo(locate(config, process.cwd())));
}
