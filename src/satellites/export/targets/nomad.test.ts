import assert from "node:assert/strict";
import { test } from "node:test";
import { exported } from "../../../../test/support/export-rig.ts";

// biome-ignore lint/suspicious/noExplicitAny: parsed JSON, read member by member
type Tree = any;
type Shape = string | { readonly [name: string]: Shape } | readonly [Shape];

/** What an exported job may have, by the structures of Nomad's API (package `api`, version 1.10): names, and types of the values. */
const CHECK = {
  Type: "string",
  Path: "string",
  PortLabel: "string",
  Interval: "duration",
  Timeout: "duration",
  CheckRestart: { Limit: "int", Grace: "duration" },
} as const;
const PORT = { Label: "string", Value: "int" } as const;
const TASK = {
  Name: "string",
  Driver: "string",
  User: "string",
  Config: { command: "string", args: ["string"], work_dir: "string" },
  Env: { "*": "string" },
  Templates: [{ EmbeddedTmpl: "string", DestPath: "string", Envvars: "bool" }],
  KillTimeout: "duration",
  KillSignal: "string",
  ShutdownDelay: "duration",
  Resources: { MemoryMB: "int", MemoryMaxMB: "int" },
  LogConfig: { MaxFiles: "int", MaxFileSizeMB: "int" },
} as const;
const JOB: Shape = {
  ID: "string",
  Name: "string",
  Type: "string",
  Datacenters: ["string"],
  Meta: { "*": "string" },
  Periodic: { Enabled: "bool", SpecType: "string", Spec: "string", ProhibitOverlap: "bool", TimeZone: "string" },
  ParameterizedJob: { Payload: "string" },
  Update: {
    MaxParallel: "int",
    MinHealthyTime: "duration",
    HealthyDeadline: "duration",
    ProgressDeadline: "duration",
    HealthCheck: "string",
    AutoRevert: "bool",
  },
  TaskGroups: [
    {
      Name: "string",
      Count: "int",
      RestartPolicy: { Attempts: "int", Delay: "duration", Interval: "duration", Mode: "string" },
      Networks: [{ DynamicPorts: [PORT], ReservedPorts: [PORT] }],
      Services: [{ Name: "string", Provider: "string", PortLabel: "string", Checks: [CHECK] }],
      Tasks: [TASK],
    },
  ],
};

function problems(value: Tree, shape: Shape, path: string): readonly string[] {
  if (typeof shape === "string") {
    const isWhole = typeof value === "number" && Number.isSafeInteger(value);
    const fits = {
      string: typeof value === "string",
      bool: typeof value === "boolean",
      int: isWhole,
      duration: isWhole && value >= 0,
    }[shape];
    return fits === true ? [] : [`${path} is not a ${shape}: ${JSON.stringify(value)}`];
  }
  if (Array.isArray(shape))
    return (value as Tree[]).flatMap((item, index) => problems(item, shape[0] as Shape, `${path}[${index}]`));
  const members = shape as Readonly<Record<string, Shape>>;
  return Object.entries(value).flatMap(([name, member]) => {
    const wanted = members[name] ?? members["*"];
    return wanted === undefined ? [`${path}.${name} is unknown`] : problems(member, wanted, `${path}.${name}`);
  });
}

function jobs(config?: unknown): ReadonlyMap<string, Tree> {
  const { files } = exported("nomad", config);
  return new Map(files.map(({ text }) => (JSON.parse(text) as { Job: Tree }).Job).map((job) => [job.Name, job]));
}

const taskOf = (job: Tree): Tree => job.TaskGroups[0].Tasks[0];

test("every job has the members and types of Nomad's API, and obeys its rules for names and times", () => {
  const all = jobs();
  assert.deepEqual([...all.keys()], ["shop-db", "shop-migrate", "shop-web", "shop-mail", "shop-report", "shop-clean"]);
  for (const [name, job] of all) {
    assert.deepEqual(problems(job, JOB, name), []);
    const [{ RestartPolicy: restart, Networks: [network] = [], Services: [service] = [] }] = job.TaskGroups;
    // Nomad refuses a policy whose restarts don't fit into its interval, and an interval of less than 5 s.
    assert.ok(restart.Attempts * restart.Delay < restart.Interval && restart.Interval >= 5e9, name);
    const labels = [...(network?.DynamicPorts ?? []), ...(network?.ReservedPorts ?? [])].map(
      ({ Label }: Tree) => Label,
    );
    if (service !== undefined) assert.ok(labels.includes(service.PortLabel), name);
    for (const { PortLabel } of service?.Checks ?? []) assert.ok(labels.includes(PortLabel), name);
    assert.ok(
      labels.every((label: string) => /^[a-zA-Z0-9_]+$/.test(label)),
      name,
    );
    // A health by checks needs one.
    if (job.Update?.HealthCheck === "checks") assert.ok(service?.Checks?.length > 0, `${name} would never be healthy`);
  }
});

test("services, tasks, schedules and processes that are started by hand are jobs of the fitting type", () => {
  const all = jobs();
  const typeOf = (name: string): readonly unknown[] => [
    all.get(name).Type,
    all.get(name).Periodic?.Spec,
    all.get(name).ParameterizedJob?.Payload,
  ];
  assert.deepEqual(["shop-web", "shop-migrate", "shop-report", "shop-clean"].map(typeOf), [
    ["service", undefined, undefined],
    ["batch", undefined, undefined],
    ["batch", "0 3 * * 1-5", undefined],
    ["batch", undefined, "forbidden"],
  ]);
  assert.deepEqual(
    [all.get("shop-report").Periodic.TimeZone, all.get("shop-report").Periodic.ProhibitOverlap],
    ["Europe/Berlin", true],
  );
});

test("instances get ports and numbers of Nomad, other processes keep their ports", () => {
  const all = jobs();
  const { PORT, PROCMAN_CLUSTER_INSTANCE } = taskOf(all.get("shop-web")).Env;
  assert.deepEqual([PORT, PROCMAN_CLUSTER_INSTANCE], ["${NOMAD_PORT_instance}", "${NOMAD_ALLOC_INDEX}"]);
  assert.deepEqual(all.get("shop-db").TaskGroups[0].Networks, [
    { ReservedPorts: [{ Label: "port7000", Value: 7000 }] },
  ]);
});

test("stop signal, times, limits and checks are carried, and secrets come from the job's variable", () => {
  const all = jobs();
  const { KillSignal, KillTimeout, Templates, Config } = taskOf(all.get("shop-web"));
  assert.deepEqual([KillSignal, KillTimeout], ["SIGINT", 5e9]);
  assert.match(Templates[0].EmbeddedTmpl, /nomadVar/);
  assert.doesNotMatch(Config.args[1], /api-key/);
  assert.equal(taskOf(all.get("shop-mail")).ShutdownDelay, 3e9);
  assert.equal(taskOf(all.get("shop-db")).Resources.MemoryMaxMB, 245);
  const [
    {
      Checks: [check],
    },
  ] = all.get("shop-web").TaskGroups[0].Services;
  assert.deepEqual([check.Type, check.Path, check.Interval, check.CheckRestart.Limit], ["http", "/health", 10e9, 3]);
});
