/** `Control` of a supervisor with fake children; over HTTP too, with tokens. */
import { once } from "node:events";
import { type AddressInfo, connect } from "node:net";
import { Client } from "../../src/client/client.ts";
import { fetchSend } from "../../src/client/transport.ts";
import { ProcmanError } from "../../src/core/base/errors.ts";
import type { RawProcess } from "../../src/core/config/config-schema.ts";
import { normalise } from "../../src/core/config/normalise.ts";
import type { Caller, Control } from "../../src/core/contract/control.ts";
import type { DeploymentRecord } from "../../src/core/contract/deployment-record.ts";
import type { Executor } from "../../src/core/contract/execution.ts";
import type { PlanRecord } from "../../src/core/contract/plan.ts";
import type { RolloutRecord } from "../../src/core/contract/rollout-record.ts";
import { type Claims, payloadOf } from "../../src/core/contract/token-claims.ts";
import type { NumberedEntry } from "../../src/core/history/history-store.ts";
import { Api, type ApiLimits } from "../../src/core/http/server.ts";
import { signJwt } from "../../src/core/os/jwt.ts";
import { Actions } from "../../src/core/service/operations/action.ts";
import { Operations } from "../../src/core/service/operations/operations.ts";
import type { RollingRestarts } from "../../src/core/service/operations/rolling-restart.ts";
import { targetCount } from "../../src/core/service/operations/scale.ts";
import { ProcessBus } from "../../src/core/service/process-bus.ts";
import { RecordCache } from "../../src/core/service/reporting/record-cache.ts";
import { serviceStatus } from "../../src/core/service/reporting/service-status.ts";
import { controlFactory } from "../../src/core/service/service-control.ts";
import type { KeeperLink } from "../../src/core/service/services.ts";
import { definitionOf, SpecRegistry } from "../../src/core/service/spec-registry.ts";
import { Supervisor } from "../../src/core/supervisor/supervisor.ts";
import { FakeLogAccess, FakeReporting, TIME } from "./control-fakes.ts";
import { FakeClock, FakeSpawner } from "./fakes.ts";
import { EVEN, FakeLog } from "./service-fakes.ts";

/** Executes nothing. */
const EXECUTOR: Executor = {
  async *execute(process) {
    yield { type: "started", process, session: "web.1.1" };
    yield { type: "exited", code: 0, durationMs: 1 };
  },
  write: async () => undefined,
  launch: async (process, { command }) => ({
    process,
    argv: command,
    cwd: "/",
    env: {},
    uid: 0,
    gid: 0,
    terminateMs: 0,
  }),
};

type After = { readonly after: (call: () => void | Promise<void>) => void };

const PROCESSES: readonly RawProcess[] = [
  { id: "web", cmd: "web", autostart: true, restart: "always", restartLimit: 0, minUptimeMs: 0, groups: "front" },
  { id: "job", cmd: "job", autostart: true, restart: "error", restartLimit: 0, killMode: "leader", minUptimeMs: 0 },
  {
    ...{ id: "pair", cmd: "pair", autostart: true, minUptimeMs: 0, reloadSignal: "SIGUSR2", cluster: { instances: 2 } },
    groups: ["back", "both"],
  },
];

export const PLANNED: PlanRecord = {
  configFile: "/nowhere/procman.json",
  processes: [{ process: "web", action: "restart", fields: ["cmd"], reason: "its cmd has changed", rolling: false }],
  settings: [{ field: "api.port", takesEffect: "next-run" }],
  warnings: [],
};

/** The one deployment. */
const DEPLOYED: DeploymentRecord = {
  number: 1,
  release: "20261127-231500",
  source: "/nowhere/build",
  result: "done",
  time: new Date(0).toISOString(),
  consumer: "cli",
  lines: [],
  next: 0,
};

/** The one rollout. */
const ROLLED: RolloutRecord = {
  ...{ id: "20261128-031500-00a1", host: "a", hosts: ["a"], batch: 1, maxFailed: 0, onFailure: "stop" },
  action: { kind: "restart", ids: ["web"] },
  ...{ phase: "waiting", since: TIME, time: TIME, consumer: "ci", next: 1 },
};

/** The one entry of the history. */
const APPLIED: NumberedEntry = {
  number: 1,
  entry: {
    format: "1",
    time: new Date(0).toISOString(),
    result: "applied",
    why: "procman was started",
    files: [{ file: "/nowhere/procman.json", hash: "0".repeat(64) }],
    version: "1.0.0",
    host: "here",
  },
};

/** The processes web, job and the cluster pair, all running. */
export function controlRig() {
  const [clock, spawner, logAccess, reporting] = [
    new FakeClock(),
    new FakeSpawner(),
    new FakeLogAccess(),
    new FakeReporting(),
  ];
  const config = {
    ...normalise(
      { name: "test", processes: [...PROCESSES] },
      { folder: "/nowhere", parallelism: 1, now: new Date(0), stripsTypes: false },
    ),
    file: "/nowhere/procman.json",
    warnings: [],
  };
  const specs = new SpecRegistry(config);
  const bus = new ProcessBus(() => undefined);
  const supervisor = new Supervisor({
    clock,
    spawner,
    publish: (transition) =>
      bus.transitions.publish({ id: "", spec: specs.of(transition.slot), transition, line: undefined }),
    notice: () => undefined,
    removed: () => undefined,
  });
  const services = { bus, specs, supervisor };
  const records = new RecordCache(services, { of: () => reporting.seen() }, (record) => record);
  const log = new FakeLog();
  const terminations: string[] = [];
  const reloads: string[] = [];
  const scales: string[] = [];
  const clusters: string[] = [];
  const inputs: string[] = [];
  /** Of the pipe of all processes. */
  const room = { bytes: 65_536 };
  // All instances at once.
  const rollingRestarts: Pick<RollingRestarts, "check" | "begin"> = {
    check: () => undefined,
    begin: (clusters) => {
      for (const process of [...clusters.values()].flat()) process.restart();
      return [];
    },
  };
  const lasting = {
    setClusterDisabled: (cluster: string, isDisabled: boolean) =>
      void clusters.push(`${cluster} ${isDisabled ? "disabled" : "enabled"}`),
  };
  const operations = new Operations();
  const actions = new Actions(
    { ...services, operations, balancing: EVEN, incidents: reporting, records, lasting },
    rollingRestarts,
  );
  const status = (processes = supervisor.processes) =>
    serviceStatus({
      config,
      processes,
      isSkipped: () => false,
      isTerminating: false,
      startedAt: 0,
      keeper: 7,
      parts: [],
      plugins: undefined,
    });
  const control = controlFactory({
    ...services,
    records,
    status,
    logAccess,
    history: { numbers: [1], list: () => [APPLIED], read: () => APPLIED, textOf: () => "{}" },
    rollbacks: { rollback: async () => ({ ...PLANNED, rollbackTo: 1, files: [], remarks: [] }) },
    deployments: {
      deploy: async () => DEPLOYED,
      deployment: async () => DEPLOYED,
      releases: () => [],
      rollback: async () => undefined,
    },
    rollout: { mark: undefined, rollout: async () => ROLLED, join: async () => ROLLED, step: async () => ROLLED },
    events: reporting,
    metrics: reporting,
    incidents: reporting,
    spawner: {
      signal: (slot, run, signal, to) =>
        void spawner.log.push(`${signal} ${slot} ${run}${to === undefined ? "" : ` to the ${to}`}`),
    },
    link: { commit: async () => undefined } as unknown as KeeperLink,
    terminate: async (why) => void terminations.push(why),
    reloads: {
      plan: () => PLANNED,
      checkedPlan: async () => PLANNED,
      replacePort: async (id) => void reloads.push(`another port for ${id}`),
      unapplied: undefined,
      lastReload: undefined,
      reload: async (why) => {
        reloads.push(why);
        return PLANNED;
      },
    },
    actions,
    typeInto: ({ id }, typed) => {
      const bytes = Buffer.from(typed);
      const taken = Math.min(room.bytes, bytes.length);
      room.bytes -= taken;
      if (taken > 0 || bytes.length === 0) inputs.push(`${id} ${bytes.subarray(0, taken)}`);
      if (taken === bytes.length) return taken;
      const full = `its pipe is full: ${taken} of ${bytes.length} bytes were taken`;
      throw new ProcmanError("input-full", `Cannot send to "${id}": ${full}`, { taken });
    },
    screens: {
      async *watch(id) {
        yield { type: "begun", run: 1 };
        yield { type: "output", data: Buffer.from(`screen of ${id}`).toString("base64") };
      },
      isWatching: () => false,
      resize: async ({ id }, { rows, columns }) => void inputs.push(`${id} ${rows}x${columns}`),
    },
    scaler: {
      scale: (id, scaling) => {
        targetCount(id, scaling, 2);
        scales.push(`${id} ${JSON.stringify(scaling)}`);
        return { added: [], removed: [], done: async () => undefined };
      },
    },
    log,
  });
  supervisor.apply(config.processes.map(definitionOf));
  for (const { id } of config.processes) spawner.up(id);
  spawner.takeRequests();
  return {
    clock,
    spawner,
    logAccess,
    reporting,
    specs,
    supervisor,
    auditLines: log.lines,
    terminations,
    reloads,
    scales,
    clusters,
    inputs,
    room,
    control,
  };
}

export type ControlRig = ReturnType<typeof controlRig>;

export class ApiRig {
  readonly rig = controlRig();
  readonly secrets = { now: Buffer.alloc(32, 7) as Uint8Array };
  readonly revoked = new Set<string>();
  readonly api: Api;
  readonly #hostname: string;

  constructor(limits: Partial<ApiLimits> = {}, hostname = "127.0.0.1", dashboardFolder?: string) {
    this.#hostname = hostname;
    const access = { secret: () => this.secrets.now, isRevoked: (consumer: string) => this.revoked.has(consumer) };
    const control = (caller: Caller): Control => this.rig.control(caller);
    const denied = (text: string): void => void this.rig.auditLines.push(text);
    const sign = (claims: Claims): string => signJwt(payloadOf(claims), this.secrets.now);
    const executor = (): Executor => EXECUTOR;
    const own = {
      control,
      executor,
      denied,
      noted: denied,
      sign,
      access,
      audience: "test",
      cors: ["https://app.example.org"],
    };
    this.api = new Api({
      ...own,
      hostname: this.#hostname,
      limits,
      ...(dashboardFolder === undefined ? {} : { dashboardFolder }),
    });
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

  fetch(
    path: string,
    { token = this.token(), ...init }: RequestInit & { readonly token?: string } = {},
  ): Promise<Response> {
    return fetch(`${this.url}${path}`, { ...init, headers: { authorization: `Bearer ${token}`, ...init.headers } });
  }

  /** The answer to these bytes, until the connection ends. */
  async raw(...pieces: readonly (string | Buffer)[]): Promise<string> {
    const socket = connect(this.port, "127.0.0.1");
    let answer = "";
    socket.setEncoding("latin1").on("data", (text: string) => {
      answer += text;
    });
    // The connection may end before everything is written.
    socket.on("error", () => undefined);
    for (const piece of pieces) socket.write(piece);
    await once(socket, "close");
    return answer;
  }
}

/** The API, until the test ends. */
export async function startApi(
  context: After,
  limits: Partial<ApiLimits> = {},
  hostname?: string,
  dashboardFolder?: string,
): Promise<ApiRig> {
  const rig = new ApiRig(limits, hostname, dashboardFolder);
  rig.api.server.listen(0, "127.0.0.1");
  await once(rig.api.server, "listening");
  context.after(() => rig.api.close());
  return rig;
}
