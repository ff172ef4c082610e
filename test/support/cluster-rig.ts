/** A cluster of a running procman, and clients that record failures. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { Agent, get } from "node:http";
import type { Socket } from "node:net";
import { basename, join } from "node:path";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import type { Client } from "../../src/client/client.ts";
import type { Endpoint, ProcessRecord } from "../../src/core/contract/records.ts";
import { OWNER_SCOPES, payloadOf } from "../../src/core/contract/token-claims.ts";
import { signJwt } from "../../src/core/os/jwt.ts";
import { freePort, freeRange } from "./free-ports.ts";
import { eventually, isAlive, type Procman, startProcman } from "./procman-process.ts";
import { client } from "./product.ts";

export const DRAINING_SERVER = fileURLToPath(new URL("../programs/drain-on-sigterm.js", import.meta.url));

export type Cluster = { readonly procman: Procman; readonly port: number; readonly startPort: number };

/** `fields` of the cluster, `more` of the process. */
export async function cluster(
  context: TestContext,
  fields: object = {},
  env: Readonly<Record<string, string>> = {},
  more: object = {},
): Promise<Cluster> {
  const [port, startPort] = [await freePort(), await freeRange()];
  const shape = { instances: 3, startPort, commonPort: port, ...fields };
  const procman = await startProcman(context, [
    { id: "web", cmd: `node ${DRAINING_SERVER}`, autostart: true, restart: "always", env, cluster: shape, ...more },
  ]);
  return { procman, port, startPort };
}

export function api({ procman }: Pick<Cluster, "procman">): Promise<Client> {
  return clientOf(join(procman.folder, ".procman/procman"));
}

/** A client of the service that serves this state folder now. */
export async function clientOf(state: string): Promise<Client> {
  const endpoint = await eventually(() => {
    const file = join(state, "endpoint.json");
    const now = existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Endpoint) : undefined;
    return now !== undefined && isAlive(now.pid) ? now : undefined;
  });
  const token = signJwt(
    payloadOf({ audience: basename(state), consumer: "test", scopes: OWNER_SCOPES }),
    readFileSync(join(state, "secret")),
  );
  const { connect } = await client();
  return connect({ url: `http://${endpoint.hostname}:${endpoint.port}`, token });
}

/** Waits until `fits` is true for the record of this id. */
export async function waitForRecord(
  client: Client,
  id: string,
  fits: (record: ProcessRecord) => boolean,
): Promise<ProcessRecord> {
  for (const end = performance.now() + 30_000; ; await new Promise((resolve) => setTimeout(resolve, 20))) {
    const found = await client.process(id);
    if (fits(found)) return found;
    assert.ok(performance.now() < end, `${id} stays ${JSON.stringify(found)}`);
  }
}

export const isAccepting = ({ backend }: ProcessRecord): boolean => backend?.accepting === true;

/** `path` names the request; the server may record it. */
type RequestOptions = { readonly path?: string; readonly onSocket?: (socket: Socket) => void };

export function ask(
  port: number,
  agent?: Agent,
  { path = "/", onSocket = () => undefined }: RequestOptions = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = get(
      { port, host: "127.0.0.1", path, ...(agent === undefined ? { agent: false } : { agent }) },
      (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => {
          text += part;
        });
        response.once("end", () => resolve(Number(text))).once("error", reject);
      },
    );
    request.once("socket", onSocket).once("error", reject);
  });
}

/** A request without an answer. Times are those of `performance.now`. */
export type Failure = {
  readonly began: number;
  readonly at: number;
  readonly path: string;
  /** Pid that answered the request before it on this connection; undefined: it was the first. */
  readonly previousPid: number | undefined;
  readonly error: string;
};

/** Clients that send one request after another, half of them over kept connections, until `stop` or the end of the test. */
export class LoadGenerator {
  readonly failures: Failure[] = [];
  readonly pids = new Set<number>();
  requests = 0;
  readonly #port: number;
  readonly #answerers = new WeakMap<Socket, number>();
  #isOver = false;
  readonly #clients: readonly Promise<void>[];

  constructor(context: Pick<TestContext, "after">, port: number, count: number) {
    context.after(() => this.stop());
    this.#port = port;
    this.#clients = Array.from({ length: count }, (_, index) => this.#run(index, index % 2 === 0));
  }

  get errors(): readonly string[] {
    return this.failures.map(({ error }) => error);
  }

  async stop(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#clients);
  }

  async #run(number: number, keepsAlive: boolean): Promise<void> {
    const agent = keepsAlive ? new Agent({ keepAlive: true, maxSockets: 1 }) : undefined;
    for (let turn = 0; !this.#isOver; turn++)
      await this.#ask(`/${keepsAlive ? "kept" : "new"}-${number}-${turn}`, agent);
    agent?.destroy();
  }

  async #ask(path: string, agent: Agent | undefined): Promise<void> {
    const began = performance.now();
    let socket: Socket | undefined;
    const onSocket = (own: Socket): void => {
      socket = own;
    };
    const answeredBefore = (): number | undefined => (socket === undefined ? undefined : this.#answerers.get(socket));
    try {
      const pid = await ask(this.#port, agent, { path, onSocket });
      assert.ok(
        answeredBefore() === undefined || answeredBefore() === pid,
        `${answeredBefore()} and ${pid} answer on one connection`,
      );
      if (socket !== undefined) this.#answerers.set(socket, pid);
      this.pids.add(pid);
      this.requests += 1;
    } catch (error) {
      const text = `${path}: ${(error as Error).message}`;
      this.failures.push({ began, at: performance.now(), path, previousPid: answeredBefore(), error: text });
    }
  }
}
