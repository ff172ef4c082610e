/** The API of a running service: where it listens, and that others find it. */
import type { Server } from "node:http";
import { VERSION } from "../base/version.ts";
import type { Config } from "../config/spec.ts";
import type { Caller, Control } from "../contract/control.ts";
import type { Endpoint } from "../contract/records.ts";
import { processStat } from "../os/process-stat.ts";
import { announce, formerPort, keepSecret, secretIn, withdraw } from "./presence.ts";

export type Served = { readonly config: Config; readonly control: (caller: Caller) => Control; readonly keeper: number };

export class Serving {
  readonly #served: Served;
  #timer: NodeJS.Timeout | undefined;
  #server: Server | undefined;
  #closed = false;
  #secret: Uint8Array | undefined;
  #endpoint: Endpoint | undefined;
  #started: Promise<void> | undefined;

  constructor(served: Served) {
    this.#served = served;
  }

  /** Supervision goes on without an API: `done` gets the reason. */
  start(delayMs: number, done: (problem?: string) => void): void {
    const start = (): void => {
      this.#started = this.#start().then(done, (error: Error) => done(error.message));
    };
    if (delayMs === 0) start();
    else this.#timer = setTimeout(start, delayMs);
  }

  /** Nobody is answered any more; the address stays known, for whoever comes next. */
  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    await this.#started;
    const server = this.#server;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  /** There is nothing to be reached any more. */
  withdraw(): void {
    this.#closed = true;
    withdraw(this.#served.config.stateDir);
  }

  /** Resolves with why there is none. Clients find where it is, or that. */
  async #start(): Promise<string | undefined> {
    const { config, keeper } = this.#served;
    const { hostname, port = 0 } = config.api;
    const place = await this.#listen().then(
      (found) => ({ hostname, port: found }),
      (error: Error) => ({ hostname, port, problem: error.message }),
    );
    if (this.#closed) return undefined;
    const startTime = processStat(process.pid)?.startTime ?? "";
    this.#endpoint = { ...place, pid: process.pid, startTime, keeper, version: VERSION };
    announce(config.stateDir, this.#endpoint);
    return "problem" in place ? place.problem : undefined;
  }

  /** Somebody has removed the state folder, with secret and endpoint. */
  renew(): void {
    const { stateDir } = this.#served.config;
    if (this.#secret !== undefined) keepSecret(stateDir, this.#secret);
    if (this.#endpoint !== undefined) announce(stateDir, this.#endpoint);
  }

  /** Where any port will do, that of the last service is the best: clients know it. */
  async #listen(): Promise<number> {
    const { api, stateDir } = this.#served.config;
    if (api.port !== undefined) return this.#serve(api.port);
    const former = formerPort(stateDir);
    if (former === undefined) return this.#serve(0);
    try {
      return await this.#serve(former);
    } catch (error) {
      if (!["EADDRINUSE", "EACCES"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
      return this.#serve(0);
    }
  }

  async #serve(port: number): Promise<number> {
    const { control, config } = this.#served;
    const { stateDir, name, api } = config;
    const [{ serveApi }] = await Promise.all([import("../api/server.ts"), import("../contract/token.ts")]);
    const secret = secretIn(stateDir);
    this.#secret = secret;
    const serving = await serveApi({
      control,
      hostname: api.hostname,
      port,
      secret,
      audience: name,
      revoked: api.revoked,
    });
    this.#server = serving.server;
    return serving.port;
  }
}
