/** The way to the API of another machine, for the dashboard: a connection of ssh, or https. */
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import type { RequestOptions } from "node:https";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ProcmanError } from "../../base/errors.ts";
import { tokenIn } from "../../connection/remote-api.ts";
import { monotonicMs } from "../../os/clock.ts";
import type { NamedHost } from "./host-file.ts";
import { apiOf } from "./remote-host.ts";
import { askThere, forwardSocket, jsonOf, type SshHost, sshHost } from "./ssh.ts";

/** Time for a connection of ssh, and between two attempts. Milliseconds. */
const CONNECT_MS = 15_000;
const RETRY_MS = 3_000;
const POLL_MS = 50;
/** Validity of a code that signs in with the token of a file. Seconds. */
const CODE_SECONDS = 30;

export type UpstreamAddress = RequestOptions & { readonly isTls: boolean /** In front of each path. */; readonly prefix: string };

export interface HostDoor {
  readonly name: string;
  /** Signs in, once; undefined: there is no answer, see `problem`. */
  readonly code: string | undefined;
  readonly problem: string | undefined;
  /** Where requests go. @throws {ProcmanError} `service-down` */
  address(): Promise<UpstreamAddress>;
  /** The token for a code that this side has made. undefined: the other machine exchanges codes. */
  readonly exchange: ((code: string) => string | undefined) | undefined;
  close(): void;
}

/** `folder`: for its socket; only this user may enter it. Never rejects: a machine that doesn't answer has a problem. */
export async function doorTo(host: NamedHost, folder: string, scope: string | undefined): Promise<HostDoor> {
  const there = sshHost(host);
  if (there === undefined) return new HttpsDoor(host);
  const door = new SshDoor(there, join(folder, `${host.name.replaceAll(/[^\w.-]/g, "-")}.sock`));
  await door.open(scope);
  return door;
}

class SshDoor implements HostDoor {
  readonly #host: SshHost;
  readonly #local: string;
  #remote = "";
  #child: ChildProcess | undefined;
  #opening: Promise<void> | undefined;
  #tried = Number.NEGATIVE_INFINITY;
  code: string | undefined;
  problem: string | undefined;
  readonly exchange = undefined;

  constructor(host: SshHost, local: string) {
    this.#host = host;
    this.#local = local;
  }

  get name(): string {
    return this.#host.name;
  }

  async open(scope: string | undefined): Promise<void> {
    try {
      const words = ["dashboard", "--json", ...(scope === undefined ? [] : ["--scope", scope])];
      const signIn = jsonOf(this.#host, await askThere(this.#host, words)) as { readonly code?: string; readonly socket?: string };
      if (signIn.socket === undefined || signIn.code === undefined)
        throw new ProcmanError("service-down", `Cannot reach ${this.name}: the API there has no Unix socket`);
      this.#remote = signIn.socket;
      await this.#connected();
      this.code = signIn.code;
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      this.problem = error.message;
    }
  }

  async address(): Promise<UpstreamAddress> {
    if (this.#remote === "") throw new ProcmanError("service-down", this.problem ?? `Cannot reach ${this.name}`);
    await this.#connected();
    return { socketPath: this.#local, isTls: false, prefix: "", headers: { host: "localhost" } };
  }

  close(): void {
    this.#child?.kill();
  }

  /** A connection that has ended is made again. */
  #connected(): Promise<void> {
    if (this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null && this.#opening !== undefined)
      return this.#opening;
    if (monotonicMs() - this.#tried < RETRY_MS)
      return Promise.reject(new ProcmanError("service-down", this.problem ?? `Cannot reach ${this.name}: its connection has ended`));
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
      ended ??= said.trim().split("\n").at(-1) || "ssh has ended";
      this.problem = `Cannot reach ${this.name}: ${ended}`;
    });
    for (const late = monotonicMs() + CONNECT_MS; ended === undefined && monotonicMs() < late; await sleep(POLL_MS))
      if (await accepts(this.#local)) {
        this.problem = undefined;
        return;
      }
    child.kill();
    throw new ProcmanError("service-down", `Cannot reach ${this.name}: ${ended ?? `no connection within ${CONNECT_MS / 1_000} s`}`);
  }
}

class HttpsDoor implements HostDoor {
  readonly #host: NamedHost;
  readonly code: string = process.getBuiltinModule("node:crypto").randomBytes(24).toString("base64url");
  readonly problem: string | undefined = undefined;
  #usableUntil = monotonicMs() + CODE_SECONDS * 1_000;

  constructor(host: NamedHost) {
    this.#host = host;
  }

  get name(): string {
    return this.#host.name;
  }

  async address(): Promise<UpstreamAddress> {
    const { url, ca } = apiOf(this.#host);
    const { protocol, hostname, port, host, pathname } = new URL(url);
    return {
      isTls: protocol === "https:",
      hostname: hostname.replace(/^\[|\]$/g, ""),
      ...(port !== "" && { port: Number(port) }),
      ...(ca !== undefined && { ca: readFileSync(ca) }),
      prefix: pathname.replace(/\/+$/, ""),
      headers: { host },
    };
  }

  /** The token of the file, whose rights the page then has. */
  readonly exchange = (code: string): string | undefined => {
    if (code !== this.code || monotonicMs() > this.#usableUntil) return undefined;
    this.#usableUntil = Number.NEGATIVE_INFINITY;
    return tokenIn(apiOf(this.#host));
  };

  close(): void {}
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
