/** The API of a running service: its socket, its address for clients, its tokens. */

import { VERSION } from "../../base/version.ts";
import type { Config } from "../../config/spec.ts";
import { lastPort, publishEndpoint, removeEndpoint } from "../../connection/endpoint-file.ts";
import type { Caller, Control } from "../../contract/control.ts";
import type { Endpoint } from "../../contract/records.ts";
import { claimsOfProcess, payloadOf } from "../../contract/token-claims.ts";
import type { Api } from "../../http/server.ts";
import { signJwt } from "../../os/jwt.ts";
import { processStat } from "../../os/process-stat.ts";
import type { ServiceLog } from "../reporting/service-log.ts";
import type { ApiAccess } from "../spawn/environment.ts";
import type { Subsystem } from "../subsystem.ts";
import { ApiListener } from "./api-listener.ts";
import { Credentials } from "./credentials.ts";

/** At a first start the API is loaded this long after the first processes were started. Milliseconds. */
const DELAY_MS = 300;

export type ApiServicePorts = {
  readonly config: Config;
  readonly control: (caller: Caller) => Control;
  readonly log: Pick<ServiceLog, "audit" | "info" | "error">;
  readonly keeper: number;
  /** Address or tokens for processes have changed. */
  readonly onAddressChanged: () => void;
};

/** Pause before publishing the address is tried again. Milliseconds. */
const PUBLISH_RETRY_MS = 1_000;
/** Pause before listening is tried again: the program that has the port may end, the address may come up. Milliseconds. */
const LISTEN_RETRY_MS = 3_000;

export class ApiService implements Subsystem {
  readonly #ports: ApiServicePorts;
  readonly #listener: ApiListener;
  readonly #credentials: Credentials;
  /** Tokens of processes, by id, made with the present secret. */
  readonly #tokens = new Map<string, string>();
  readonly #previousPort: number | undefined;
  #listening: Promise<void> | undefined;
  #port: number | undefined;
  #problem: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #done: ((problem?: string) => void) | undefined;
  #started: Promise<void> | undefined;
  #api: Api | undefined;
  #endpoint: Endpoint | undefined;
  #closed = false;

  constructor(ports: ApiServicePorts) {
    this.#ports = ports;
    const [reserved, previous] = [portsOf(ports.config), lastPort(ports.config.stateDir)];
    this.#listener = new ApiListener(() => this.#startOnce(), reserved);
    this.#previousPort = previous === undefined || reserved.has(previous) ? undefined : previous;
    this.#credentials = new Credentials(ports.config, {
      onChanged: () => {
        this.#tokens.clear();
        ports.onAddressChanged();
        this.#api?.recheck();
      },
      onUnsaved: (why) =>
        why === undefined
          ? ports.log.info("the secret of the API is in its file now: commands reach procman again")
          : ports.log.error(
              `the secret of the API can't be written to its file: ${why}; commands can't reach procman until it is; retrying every second`,
            ),
    });
  }

  /** Listens before the first processes start, as they get the port. Not with a known port: the previous service may still have it. */
  listen(): Promise<void> | undefined {
    const listening = this.#previousPort === undefined ? this.#listen() : undefined;
    // Loaded while the keeper works: the tokens of the first processes need it.
    process.getBuiltinModule("node:crypto");
    return listening;
  }

  /** `done` gets the reason if the API can't be served; supervision continues. `isFirst`: nothing ran before; loading is delayed until a client connects, or 300 ms. */
  start(isFirst: boolean, done: (problem?: string) => void): void {
    this.#done = (why) => done(why === undefined ? undefined : `Cannot serve the API at ${this.#address}: ${why}`);
    void this.#listen();
    // Clients sign with it, so it must exist before they find the address.
    this.#credentials.secret();
    this.#credentials.watch();
    if (isFirst) this.#timer = setTimeout(() => this.#startOnce(), DELAY_MS);
    else this.#startOnce();
  }

  /** Address and token for a process; undefined: there is no API. */
  accessOf(process: string): ApiAccess | undefined {
    const { name, api } = this.#ports.config;
    // The previous port, if this is called in the turn in which listening began.
    const port = this.#port ?? api.port ?? this.#previousPort;
    if (port === undefined || this.#problem !== undefined) return undefined;
    let token = this.#tokens.get(process);
    if (token === undefined) {
      token = signJwt(payloadOf(claimsOfProcess(process, name)), this.#credentials.secret());
      this.#tokens.set(process, token);
    }
    return { hostname: reachable(api.hostname), port, token };
  }

  /** Stops answering; the published address stays, for the next service. */
  async retire(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#credentials.stop();
    await this.#listening;
    await this.#started;
    this.#listener.close();
    await this.#api?.close();
  }

  /** procman ends: removes the published address. */
  stopped(): void {
    this.#closed = true;
    removeEndpoint(this.#ports.config.stateDir);
  }

  /** The state folder was removed, with secret and endpoint. */
  renew(): void {
    this.#credentials.restoreFile();
    if (this.#endpoint !== undefined) this.#publish(this.#endpoint);
  }

  get #address(): string {
    const { hostname, port } = this.#ports.config.api;
    return port === undefined ? hostname : `${hostname}:${port}`;
  }

  #startOnce(): void {
    const done = this.#done;
    // Without `done`, the state folder is not ours yet: clients wait.
    if (done === undefined || this.#started !== undefined || this.#closed) return;
    clearTimeout(this.#timer);
    this.#started = this.#start().then(done, (error: Error) => done(error.message));
  }

  /** Never rejects. */
  #listen(): Promise<void> {
    const { hostname, port } = this.#ports.config.api;
    this.#listening ??= this.#listener.open(hostname, port, this.#previousPort).then(
      (found) => {
        this.#port = found;
        this.#problem = undefined;
      },
      (error: Error) => {
        this.#problem = error.message;
      },
    );
    return this.#listening;
  }

  /** Resolves with the problem, if any. Address or problem are published for clients. */
  async #start(): Promise<string | undefined> {
    await this.#listen();
    if (this.#problem === undefined) await this.#serve();
    if (this.#closed) return undefined;
    if (this.#problem !== undefined) this.#timer = setTimeout(() => this.#retryListen(), LISTEN_RETRY_MS).unref();
    const isKnown = this.#endpoint !== undefined && this.#endpoint.problem === this.#problem;
    const publishProblem = isKnown ? undefined : this.#publish(this.#endpointNow());
    return this.#problem ?? publishProblem;
  }

  #endpointNow(): Endpoint {
    const { config, keeper } = this.#ports;
    const { hostname, port = 0 } = config.api;
    const startTime = processStat(process.pid)?.startTime ?? "";
    const problem = this.#problem === undefined ? {} : { problem: this.#problem };
    this.#endpoint = { hostname, port: this.#port ?? port, pid: process.pid, startTime, keeper, version: VERSION, ...problem };
    return this.#endpoint;
  }

  #retryListen(): void {
    if (this.#closed) return;
    this.#listening = undefined;
    this.#started = this.#start().then(
      () => {
        if (this.#problem !== undefined || this.#closed) return;
        this.#ports.onAddressChanged();
        this.#ports.log.info(`the API is served at ${this.#address} now`);
      },
      (error: Error) => this.#ports.log.error(`Cannot serve the API at ${this.#address}: ${error.message}`),
    );
  }

  /** Publishes the address, again and again until it succeeds. Returns the problem of the first attempt. */
  #publish(endpoint: Endpoint): string | undefined {
    if (this.#closed) return undefined;
    try {
      // A client that finds the address but no secret would make one, which would void all tokens.
      if (!this.#credentials.save()) throw new Error("its secret has no file");
      publishEndpoint(this.#ports.config.stateDir, endpoint);
      return undefined;
    } catch (error) {
      this.#timer = setTimeout(() => this.#publish(endpoint), PUBLISH_RETRY_MS).unref();
      return `${(error as Error).message}; retrying until clients can find it`;
    }
  }

  /** Loads the HTTP server, which is no part of the service's start. */
  async #serve(): Promise<void> {
    const { control, log, config } = this.#ports;
    const { Api } = await import("../../http/server.ts");
    const credentials = this.#credentials;
    const denied = (text: string): void => log.audit({ severity: "warn", text });
    const access = { secret: () => credentials.secret(), isRevoked: (consumer: string) => credentials.isRevoked(consumer) };
    this.#api = new Api({ control, denied, access, audience: config.name, hostname: config.api.hostname, cors: config.api.cors ?? [] });
    if (!this.#closed) await this.#listener.handOver(this.#api.server);
  }
}

/** The address to connect to, for an address to listen on. */
function reachable(hostname: string): string {
  return hostname === "0.0.0.0" ? "127.0.0.1" : hostname === "::" ? "::1" : hostname;
}

/** Ports that clusters listen on. */
function portsOf({ processes }: Config): ReadonlySet<number> {
  return new Set(
    processes.flatMap(({ cluster, front, share }) => [cluster?.port, front?.port, share?.port].filter((port) => port !== undefined)),
  );
}
