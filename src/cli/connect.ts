/** From a configuration file to a connection with the procman that runs it. */
import { readFileSync } from "node:fs";
import { Client } from "../client/client.ts";
import { type Location, locate } from "../config/locate.ts";
import { expiresIn, payloadOf } from "../contract/claims.ts";
import { signJwt } from "../os/jwt.ts";
import { secretFile } from "../os/secret.ts";
import { PATIENCE_MS, reach } from "./endpoint.ts";
import { sender } from "./sender.ts";

/** Of a command's own token; a stream that lasts longer comes again with another. Seconds. */
const TOKEN_SECONDS = 3_600;

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export async function connect(config: string | undefined): Promise<Client> {
  return connectTo(locate(config, process.cwd()));
}

/** @throws {ProcmanError} `no-daemon`, `service-down` */
export async function connectTo({ name, stateDir }: Location): Promise<Client> {
  await reach(stateDir, performance.now() + PATIENCE_MS);
  const token = (): string =>
    signJwt(
      payloadOf({ audience: name, consumer: "cli", scopes: ["admin"], expires: expiresIn(TOKEN_SECONDS) }),
      readFileSync(secretFile(stateDir)),
    );
  return new Client(sender(stateDir, token));
}
