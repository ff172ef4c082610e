/** The way to the API of another machine, for the dashboard: a connection of ssh, https, or the socket of a group. */
import type { ChildProcess } from "node:child_process";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Client, jsonIn } from "../../client/client.ts";
import { checkAnswer } from "../../client/connection/checked-answer.ts";
import type { NamedHost } from "../../client/connection/host-file.ts";
import { exchange } from "../../client/connection/http10.ts";
import { bareSender, tokenIn } from "../../client/connection/remote-api.ts";
import { apiOf } from "../../client/connection/remote-host.ts";
import { errorOf, NoAnswerError, type SendRequest } from "../../client/transport.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printable } from "../../core/base/printable.ts";
import type { SignInToken } from "../../core/contract/dashboard-access.ts";
import { ROUTES } from "../../core/contract/routes.ts";
import { SCOPES_HEADER } from "../../core/contract/token-claims.ts";
import { monotonicMs } from "../../core/os/clock.ts";
import { forwardSocket, type SshHost, signInThere, sshHost, tokenThere } from "./ssh.ts";

/** Time for a connection of ssh, and between two attempts. Milliseconds. */
const CONNECT_MS = 15_000;
const RETRY_MS = 3_000;
const POLL_MS = 50;
/** Time without data after which a request fails; streams send heartbeats more often. Milliseconds. */
const SILENCE_MS = 30_000;

export interface HostUpstream {
  readonly name: string;
  /** For the API there. Rejects with `service-down`. */
  token(): Promise<string>;
  /** Sends a request as it is: without a token. */
  readonly send: SendRequest;
  close(): void;
}

/** `scope`: of the page. `isCommand`: its requests are those of a command, with the rights of the account there. */
type SignInOptions = { readonly scope?: string | undefined; readonly isCommand?: true };

/** `socket`: path for a socket, in a folder that only this user may enter. */
export function upstreamTo(host: NamedHost, socket: string, options: SignInOptions): HostUpstream {
  const there = sshHost(host);
  return there === undefined ? new ApiUpstream(host) : new SshUpstream(there, socket, options);
}

/** `observe`: is given each request, with what sends it signed in. */
export function clientTo(upstream: HostUpstream, observe: (send: SendRequest) => SendRequest = (send) => send): Client {
  const send: SendRequest = async (request) => {
    const token = await upstream.token();
    return upstream.send({ ...request, headers: { ...request.headers, authorization: `Bearer ${token}` } });
  };
  return new Client(observe(send), undefined, checkAnswer);
}

class SshUpstream implements HostUpstream {
  readonly #host: SshHost;
  readonly #local: string;
  readonly #options: SignInOptions;
  #remote = "";
  #child: ChildProcess | undefined;
  #opening: Promise<void> | undefined;
  #tried = Number.NEGATIVE_INFINITY;
  #problem: string | undefined;
  /** A late answer begins no connection any more. */
  #isClosed = false;
  #token: Promise<string> | undefined;

  constructor(host: SshHost, local: string, options: SignInOptions) {
    this.#host = host;
    this.#local = local;
    this.#options = options;
  }

  get name(): string {
    return this.#host.name;
  }

  /** Asked for once; again after a failure. */
  token(): Promise<string> {
    this.#token ??= this.#signIn().catch((error: unknown) => {
      this.#token = undefined;
      throw error;
    });
    return this.#token;
  }

  readonly send: SendRequest = async (request) => {
    if (this.#remote === "")
      throw new ProcmanError("service-down", `Cannot reach ${this.name}: it has not answered yet`);
    await this.#connected();
    const silenceMs = SILENCE_MS + (request.patienceSeconds ?? 0) * 1_000;
    return exchange({ ...request, hostname: "localhost", port: 0, socket: this.#local, silenceMs }).catch(
      (error: Error) => {
        throw new NoAnswerError(this.name, error);
      },
    );
  };

  close(): void {
    this.#isClosed = true;
    this.#child?.kill();
  }

  async #signIn(): Promise<string> {
    const { code, socket } = await signInThere(this.#host, this.#options.scope);
    if (socket === undefined)
      throw new ProcmanError("service-down", `Cannot reach ${this.name}: the API there has no Unix socket`);
    this.#remote = socket;
    if (this.#options.isCommand) return tokenThere(this.#host);
    const { method, path } = ROUTES.exchange;
    const reply = await this.send({
      method,
      path,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ code }),
    });
    const text = await reply.text();
    if (reply.status !== ROUTES.exchange.status) throw errorOf(reply.status, text);
    const answer = jsonIn(text);
    checkAnswer("exchange", answer);
    return (answer as SignInToken).token;
  }

  /** A connection that has ended is made again. */
  #connected(): Promise<void> {
    if (this.#isClosed)
      return Promise.reject(new ProcmanError("service-down", `Cannot reach ${this.name}: its connection was closed`));
    if (
      this.#child !== undefined &&
      this.#child.exitCode === null &&
      this.#child.signalCode === null &&
      this.#opening !== undefined
    )
      return this.#opening;
    if (monotonicMs() - this.#tried < RETRY_MS)
      return Promise.reject(
        new ProcmanError("service-down", this.#problem ?? `Cannot reach ${this.name}: its connection has ended`),
      );
    this.#tried = monotonicMs();
    this.#opening = this.#connect();
    return this.#opening;
  }

  async #connect(): Promise<void> {
    const child = forwardSocket(this.#host, this.#local, this.#remote);
    this.#child = child;
    let said = "";
    let ended: string | undefined;
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = `${said}${text}`.slice(-1_000);
    });
    child.once("error", (error) => {
      ended = error.message;
    });
    child.once("close", () => {
      ended ??= printable(said.trim().split("\n").at(-1) || "ssh has ended");
      this.#problem = `Cannot reach ${this.name}: ${ended}`;
    });
    for (const late = monotonicMs() + CONNECT_MS; ended === undefined && monotonicMs() < late; await sleep(POLL_MS))
      if (await accepts(this.#local)) {
        this.#problem = undefined;
        return;
      }
    child.kill();
    throw new ProcmanError(
      "service-down",
      `Cannot reach ${this.name}: ${ended ?? `no connection within ${CONNECT_MS / 1_000} s`}`,
    );
  }
}

class ApiUpstream implements HostUpstream {
  readonly #host: NamedHost;

  constructor(host: NamedHost) {
    this.#host = host;
  }

  get name(): string {
    return this.#host.name;
  }

  /** That of the file, whose rights the page then has. The socket of a group needs none: what it allows is told to the page alone. */
  async token(): Promise<string> {
    return tokenIn(apiOf(this.#host)) ?? unsigned(await this.#scopes());
  }

  readonly send: SendRequest = (request) => bareSender(apiOf(this.#host), { silenceMs: SILENCE_MS })(request);

  close(): void {}

  async #scopes(): Promise<string> {
    const { method, path, status } = ROUTES.state;
    const reply = await this.send({ method, path, headers: {} });
    if (reply.status !== status) throw errorOf(reply.status, await reply.text());
    return (reply.headers.get(SCOPES_HEADER) ?? "").replaceAll(",", "");
  }
}

/** A token by its form, for the page, which shows what it may do. */
function unsigned(scope: string): string {
  const payload = Buffer.from(JSON.stringify({ sub: "member", scope })).toString("base64url");
  return `none.${payload}.none`;
}

function accepts(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
