/** The API of a running service: its socket, its address for clients, its tokens. */
import type { Server as TlsServer } from "node:tls";
import { reachable } from "../../base/address-text.ts";
import { VERSION } from "../../base/version.ts";
import { ownPort } from "../../config/cluster-variables.ts";
import type { Config } from "../../config/spec.ts";
import type { Endpoint } from "../../contract/records.ts";
import { type Claims, claimsOfGroup, claimsOfProcess, OF_PROCESS, payloadOf } from "../../contract/token-claims.ts";
import type { Api, ApiOptions } from "../../http/server.ts";
import { monotonicMs } from "../../os/clock.ts";
import type { HeldSockets } from "../../os/inherited-sockets.ts";
import { signJwt } from "../../os/jwt.ts";
import { processStat } from "../../os/process-stat.ts";
import { lastEndpoint, lastPort, publishEndpoint, removeEndpoint } from "../../os/published-endpoint.ts";
import type { Services } from "../services.ts";
import type { ApiAccess } from "../spawn/environment.ts";
import type { KeeperSpawner } from "../spawn/spawner.ts";
import type { Subsystem } from "../subsystem.ts";
import { ApiListener } from "./api-listener.ts";
import { Credentials } from "./credentials.ts";
import { GroupSocket } from "./group-socket.ts";
import { KeptSocket } from "./kept-socket.ts";
import { TlsCertificate } from "./tls-certificate.ts";
import { UnixListener } from "./unix-listener.ts";

/** At a first start the API is loaded this long after the first processes were started. Milliseconds. */
const DELAY_MS = 300;

/** Pause before publishing the address is tried again. Milliseconds. */
const PUBLISH_RETRY_MS = 1_000;
/** Pause before listening is tried again: the program that has the port may end, the address may come up. Milliseconds. */
const LISTEN_RETRY_MS = 3_000;
const OFF = '"api" is false in the configuration';

/** What it serves, for each caller. */
type ApiCalls = Pick<ApiOptions, "control" | "executor">;

export class ApiService implements Subsystem {
  readonly #services: Pick<Services, "log" | "specs">;
  readonly #calls: ApiCalls;
  readonly #spawner: Pick<KeeperSpawner, "refreshOrders">;
  /** Its settings of the API hold as long as procman runs. */
  readonly #config: Config;
  readonly #listener: ApiListener;
  readonly #unix: UnixListener;
  readonly #group: GroupSocket;
  #unixOpened: Promise<unknown> | undefined;
  readonly #kept: KeptSocket;
  readonly #credentials: Credentials;
  readonly #certificate: TlsCertificate | undefined;
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
  /** The previous service had no port either. */
  readonly hadProblem: boolean;

  /** `sockets`: copies that this process holds for a later keeper. `spawner`: its orders have address and tokens for processes. */
  constructor(
    services: Pick<Services, "link" | "log" | "specs">,
    calls: ApiCalls,
    sockets: HeldSockets,
    spawner: Pick<KeeperSpawner, "refreshOrders">,
  ) {
    const { link, log, specs } = services;
    const { config } = specs;
    this.#services = services;
    this.#calls = calls;
    this.#spawner = spawner;
    this.#config = config;
    const reserved = portsOf(config);
    const previous = lastPort(config.stateDir);
    this.#listener = new ApiListener(() => this.#startOnce(), reserved);
    this.#unix = new UnixListener(config.stateDir, () => this.#startOnce());
    this.#group = new GroupSocket(config.stateDir, log, () => this.#startOnce());
    this.#kept = new KeptSocket(sockets, link);
    this.hadProblem = lastEndpoint(config.stateDir)?.problem !== undefined;
    this.#previousPort = previous === undefined || reserved.has(previous) ? undefined : previous;
    const { tls } = config.api;
    this.#certificate = tls === undefined ? undefined : new TlsCertificate(tls, log, monotonicMs);
    this.#credentials = new Credentials(config, () => specs.config.profile, {
      onChanged: () => {
        this.#tokens.clear();
        spawner.refreshOrders();
        this.#api?.recheck();
      },
      onUnsaved: (why) =>
        why === undefined
          ? log.info("the secret of the API is in its file now: commands reach procman again")
          : log.error(
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

  /**
   * `done` gets the reason if the API can't be served; supervision continues. `isFirst`: nothing ran before; loading is
   * delayed until a client connects, or 300 ms.
   */
  start(isFirst: boolean, done: (problem?: string) => void): void {
    this.#done = (why) => done(why === undefined ? undefined : `Cannot serve the API at ${this.#address}: ${why}`);
    void this.#listen();
    this.#unixOpened = Promise.all([this.#openUnix(), this.#useGroup(isFirst)]);
    // Clients sign with it, so it must exist before they find the address.
    this.#credentials.secret();
    this.#credentials.watch();
    if (isFirst) this.#timer = setTimeout(() => this.#startOnce(), DELAY_MS);
    else this.#startOnce();
  }

  /** Address and token for a process; undefined: there is neither port nor socket. */
  accessOf(process: string): ApiAccess | undefined {
    const { name, api } = this.#config;
    // The previous port, if this is called in the turn in which listening began.
    const port = api.isOff ? undefined : (this.#port ?? api.port ?? this.#previousPort);
    const address =
      port === undefined || this.#problem !== undefined
        ? undefined
        : { hostname: reachable(api.hostname), port, ...(api.tls && { tls: true as const }) };
    const { shortPath: socket } = this.#unix;
    if (address === undefined && socket === undefined) return undefined;
    let token = this.#tokens.get(process);
    if (token === undefined) {
      token = signJwt(payloadOf(claimsOfProcess(process, name)), this.#credentials.secret());
      this.#tokens.set(process, token);
    }
    return { ...(address && { address }), ...(socket === undefined ? {} : { socket }), token };
  }

  /** Another group may look. */
  apply(): void {
    if (this.#unixOpened !== undefined && !this.#closed) void this.#useGroup(true);
  }

  /** Stops answering; the published address stays, for the next service. */
  async retire(): Promise<void> {
    this.#closed = true;
    this.#api?.giveWay();
    clearTimeout(this.#timer);
    this.#credentials.stop();
    await this.#listening;
    await this.#unixOpened;
    await this.#started;
    // In the turn in which the descriptor is closed: a keeper that is started later would inherit what has its number then.
    this.#kept.closed();
    this.#listener.close();
    this.#unix.close();
    await this.#group.close();
    await this.#api?.close();
  }

  /** procman ends: removes the published address. */
  stopped(): void {
    this.#closed = true;
    removeEndpoint(this.#config.stateDir);
    this.#unix.remove();
    this.#group.remove();
    this.#kept.drop();
  }

  /** The state folder was removed, with secret and endpoint. */
  renew(): void {
    this.#credentials.restoreFile();
    this.#unixOpened = Promise.all([this.#openUnix(), this.#useGroup(false)]);
    if (this.#endpoint !== undefined) this.#publish(this.#endpoint);
  }

  get #address(): string {
    const { hostname, port } = this.#config.api;
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
    this.#listening ??= this.#open().then(
      (found) => {
        if (found !== undefined) this.#port = found;
        this.#problem = undefined;
      },
      (error: Error) => {
        this.#problem = error.message;
      },
    );
    return this.#listening;
  }

  /** Takes the socket of the previous service, or opens one. undefined: the configuration wants none. */
  async #open(): Promise<number | undefined> {
    const { hostname, port, isOff } = this.#config.api;
    if (isOff) {
      this.#kept.release();
      return undefined;
    }
    this.#certificate?.check();
    const fd = this.#kept.take(hostname, [port ?? this.#previousPort]);
    if (fd !== undefined) return this.#listener.openKept(fd);
    const isDropped = this.#kept.drop();
    return this.#listener.open(hostname, port, isDropped ? (port ?? this.#previousPort) : this.#previousPort);
  }

  /** Never rejects: without it, commands use the port. */
  async #openUnix(): Promise<void> {
    try {
      await this.#unix.open();
    } catch (error) {
      this.#services.log.error(
        `the Unix socket of the API can't be opened: ${(error as Error).message}; commands use its port`,
      );
    }
  }

  #useGroup(isNew: boolean): Promise<void> {
    return this.#group.use(this.#services.specs.config.api.group, isNew);
  }

  /** Resolves with the problem, if any. Address or problem are published for clients. */
  async #start(): Promise<string | undefined> {
    const config = this.#config;
    await this.#listen();
    await this.#unixOpened;
    await this.#serve();
    if (this.#closed) return undefined;
    this.#give();
    if (this.#problem !== undefined) this.#timer = setTimeout(() => this.#retryListen(), LISTEN_RETRY_MS).unref();
    const isKnown = this.#endpoint !== undefined && (config.api.isOff || this.#endpoint.problem === this.#problem);
    const publishProblem = isKnown ? undefined : this.#publish(this.#endpointNow());
    return this.#problem ?? publishProblem;
  }

  #give(): void {
    const { handle } = this.#listener;
    if (this.#port !== undefined && this.#problem === undefined && handle !== undefined)
      this.#kept.give(this.#config.api.hostname, this.#port, handle);
  }

  /** The token of a process that was removed. */
  #isOrphan(consumer: string): boolean {
    return consumer.startsWith(OF_PROCESS) && !this.#services.specs.has(consumer.slice(OF_PROCESS.length));
  }

  #endpointNow(): Endpoint {
    const config = this.#config;
    const { hostname, port = 0 } = config.api;
    const startTime = processStat(process.pid)?.startTime ?? "";
    const { path: socket } = this.#unix;
    this.#endpoint = {
      hostname,
      port: this.#port ?? port,
      pid: process.pid,
      startTime,
      keeper: process.ppid,
      version: VERSION,
      ...(socket === undefined ? {} : { socket }),
      ...(config.api.tls && { tls: true }),
      ...(config.api.isOff
        ? { isOff: true, problem: OFF }
        : this.#problem === undefined
          ? {}
          : { problem: this.#problem }),
    };
    return this.#endpoint;
  }

  #retryListen(): void {
    if (this.#closed) return;
    this.#listening = undefined;
    this.#started = this.#start().then(
      () => {
        if (this.#problem !== undefined || this.#closed) return;
        this.#spawner.refreshOrders();
        this.#services.log.info(`the API is served at ${this.#address} now`);
      },
      (error: Error) => this.#services.log.error(`Cannot serve the API at ${this.#address}: ${error.message}`),
    );
  }

  /** Publishes the address, again and again until it succeeds. Returns the problem of the first attempt. */
  #publish(endpoint: Endpoint): string | undefined {
    if (this.#closed) return undefined;
    try {
      // A client that finds the address but no secret would make one, which would void all tokens.
      if (!this.#credentials.save()) throw new Error("its secret has no file");
      publishEndpoint(this.#config.stateDir, endpoint);
      return undefined;
    } catch (error) {
      this.#timer = setTimeout(() => this.#publish(endpoint), PUBLISH_RETRY_MS).unref();
      return `${(error as Error).message}; retrying until clients can find it`;
    }
  }

  /** Loads the HTTP server, which is not part of the service's start. */
  async #serve(): Promise<void> {
    await this.#load();
    const api = this.#api;
    if (this.#closed || api === undefined) return;
    await this.#listener.handOver(api.server);
    this.#unix.handOver(api.local);
    const { name } = this.#config;
    this.#group.handOver((socket, group) => api.serveMember(socket, claimsOfGroup(group.name, group.scopes, name)));
  }

  async #load(): Promise<void> {
    if (this.#api !== undefined) return;
    const { log } = this.#services;
    const { Api } = await import("../../http/server.ts");
    const credentials = this.#credentials;
    const denied = (text: string): void => log.audit({ severity: "warn", text });
    const access = {
      secret: () => credentials.secret(),
      isRevoked: (consumer: string) => credentials.isRevoked(consumer) || this.#isOrphan(consumer),
    };
    const { name: audience, api: own } = this.#config;
    const { hostname, cors = [], hosts = [] } = own;
    const noted = (text: string): void => log.audit({ severity: "info", text });
    const sign = (claims: Claims): string => signJwt(payloadOf(claims), credentials.secret());
    const tls = this.#certificate !== undefined;
    const api = new Api({ ...this.#calls, denied, noted, sign, access, audience, hostname, tls, cors, hosts });
    // Before the handshake.
    if (tls) api.server.prependListener("connection", () => this.#certificate?.refresh(api.server as TlsServer));
    this.#api = api;
  }
}

/** Ports that processes listen on, and clusters. */
function portsOf({ processes }: Config): ReadonlySet<number> {
  return new Set(
    processes.flatMap((spec) =>
      [ownPort(spec), spec.front?.port, spec.share?.port].filter((port) => port !== undefined),
    ),
  );
}
