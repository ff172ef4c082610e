/** `Control` over a supervisor whose children do as they are told; by HTTP too, with tokens for it. */
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { Api, type Limits } from "../src/api/server.ts";
import { Client } from "../src/client/client.ts";
import { fetchSend } from "../src/client/send.ts";
import { normalise } from "../src/config/normalise.ts";
import type { RawProcess } from "../src/config/schema.ts";
import type { ProcessSpec } from "../src/config/spec.ts";
import { type Claims, payloadOf } from "../src/contract/claims.ts";
import type { Caller, Control } from "../src/contract/control.ts";
import type { PlanRecord } from "../src/contract/plan.ts";
import { signJwt } from "../src/os/jwt.ts";
import { controlsOf } from "../src/service/control.ts";
import type { Controlled } from "../src/service/controlled.ts";
import { planOf } from "../src/service/specs.ts";
import { Supervisor } from "../src/supervisor/supervisor.ts";
import { FakeLogBook, FakeObservatory } from "./fake-books.ts";
import { FakeClock, FakeSpawner } from "./fakes.ts";

type After = { readonly after: (call: () => void | Promise<void>) => void };

const PROCESSES: readonly RawProcess[] = [
  { id: "web", cmd: "web", autostart: true, restart: "always", restartLimit: 0 },
  { id: "job", cmd: "job", autostart: true, restart: "error", restartLimit: 0 },
  { id: "pair", cmd: "pair", autostart: true, cluster: { instances: 2 } },
];

export const PLANNED: PlanRecord = {
  configFile: "/nowhere/procman.json",
  processes: [{ process: "web", action: "restart", fields: ["cmd"], reason: "its cmd has changed", rolling: false }],
  settings: [{ field: "api.port", takesEffect: "next-run" }],
  warnings: [],
};

/** web, job and the cluster pair, which run. */
export function controlRig() {
  const [clock, spawner, logBook, observatory] = [new FakeClock(), new FakeSpawner(), new FakeLogBook(), new FakeObservatory()];
  const config = {
    ...normalise({ name: "test", processes: [...PROCESSES] }, { folder: "/nowhere", parallelism: 1, now: new Date(0), stripsTypes: false }),
    file: "/nowhere/procman.json",
    warnings: [],
  };
  const specs = new Map(config.processes.map((spec) => [spec.id, spec]));
  const supervisor = new Supervisor({ clock, spawner, publish: () => undefined, notice: () => undefined, removed: () => undefined });
  const said: string[] = [];
  const terminations: string[] = [];
  const reloads: string[] = [];
  const rolls: string[] = [];
  const scales: string[] = [];
  const service: Controlled = {
    config,
    supervisor,
    logBook,
    observatory,
    isTerminating: false,
    leaving: [],
    startedAt: 0,
    keeper: 7,
    spec: (id) => specs.get(id) as ProcessSpec,
    terminate: async (why) => void terminations.push(why),
    commit: async () => undefined,
    reloading: {
      plan: () => PLANNED,
      reload: async (why) => {
        reloads.push(why);
        return PLANNED;
      },
    },
    rolling: {
      restart: (processes) => {
        rolls.push(processes.map(({ id }) => id).join());
        for (const process of processes) process.restart();
        return { others: [], begin: () => [] };
      },
      abort: () => undefined,
    },
    scaling: {
      scale: (id, scaling) => {
        scales.push(`${id} ${JSON.stringify(scaling)}`);
        return { added: [], removed: [] };
      },
    },
    balancing: { shown: (record) => record },
    plugins: { records: undefined },
  };
  const control = controlsOf(service, { audit: ({ text }, id) => said.push(id === undefined ? text : `${id}: ${text}`) });
  supervisor.apply(config.processes.map(planOf));
  for (const { id } of config.processes) spawner.up(id);
  spawner.asked();
  return { clock, spawner, logBook, observatory, supervisor, said, terminations, reloads, scales, control };
}

export type Rig = ReturnType<typeof controlRig>;

export class ApiRig {
  readonly rig = controlRig();
  readonly secrets = { now: Buffer.alloc(32, 7) as Uint8Array };
  readonly revoked = new Set<string>();
  readonly api: Api;
  readonly #hostname: string;

  constructor(limits: Partial<Limits> = {}, hostname = "127.0.0.1") {
    this.#hostname = hostname;
    const access = { secret: () => this.secrets.now, isRevoked: (consumer: string) => this.revoked.has(consumer) };
    const control = (caller: Caller): Control => this.rig.control(caller);
    const denied = (text: string): void => void this.rig.said.push(text);
    this.api = new Api({ control, denied, access, audience: "test", hostname: this.#hostname, cors: ["https://app.example.org"], limits });
  }

  get port(): number {
    return (this.api.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  token(claims: Partial<Claims> = {}, secret: Uint8Array = this.secrets.now): string {
    return signJwt(payloadOf({ audience: "test", consumer: "ci", scopes: ["admin"], ...claims }), secret);
  }

  client(token = this.token()): Client {
    return new Client(fetchSend({ url: this.url, token }));
  }

  fetch(path: string, { token = this.token(), ...init }: RequestInit & { readonly token?: string } = {}): Promise<Response> {
    return fetch(`${this.url}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
  }

  /** What is answered to these bytes, until the connection ends. */
  async raw(...pieces: readonly (string | Buffer)[]): Promise<string> {
    const socket = connect(this.port, "127.0.0.1");
    let answer = "";
    socket.setEncoding("latin1").on("data", (text: string) => {
      answer += text;
    });
    // A connection may be ended before all of it is written.
    socket.on("error", () => undefined);
    for (const piece of pieces) socket.write(piece);
    await once(socket, "close");
    return answer;
  }
}

/** The API, until the test ends. */
export async function serving(context: After, limits: Partial<Limits> = {}, hostname?: string): Promise<ApiRig> {
  const rig = new ApiRig(limits, hostname);
  rig.api.server.listen(0, "127.0.0.1");
  await once(rig.api.server, "listening");
  context.after(() => rig.api.close());
  return rig;
}
