/** Connects a command to the running procman; on a terminal, shows that it waits for its service, if that was killed. */
import type { Client } from "../client/client.ts";
import { connectTo } from "../client/connection/connect.ts";
import { withProgress } from "./output/progress.ts";
import { type TargetOptions, targetPlace } from "./target.ts";

/** @throws {ProcmanError} those of `targetPlace`; `no-daemon`, `service-down` */
export function connect(target: TargetOptions, place = targetPlace(target)): Promise<Client> {
  return withProgress(() => "waiting for procman's service", connectTo(place));
}
