/** Generated configurations: most of them are valid; those that are not only differ between fields. */
import fc from "fast-check";
import type { RawConfig, RawProcess } from "../../src/core/config/config-schema.ts";
import { INHERITABLE } from "../../src/core/config/fields/process-fields.ts";

type Part = Readonly<Record<string, unknown>>;

const path = fc.constantFrom("a", "./b/c", "../d", "/abs/e", "~/f", "~nobody-of-this-name/g", "h h");
const expandedPath = fc.oneof(path, fc.constantFrom("${HOME}/x", "${NOT_SET_HERE:-rel/y}", "$${plain}/z", "${A B}"));
const pathList = fc.oneof(expandedPath, fc.constantFrom("a:/b:../c", "${NOT_SET_HERE:-/p:q}", ":"));
const size = fc.constantFrom<string | number>("5MB", "1.5 GiB", 4096);
const optional = <Shape extends Record<string, fc.Arbitrary<unknown>>>(shape: Shape) =>
  fc.record(shape, { requiredKeys: [] });

const rotate = fc.oneof(fc.constant(false), optional({ size, hours: fc.nat(24), total: size, gzip: fc.boolean() }));
const processLogger = { console: fc.boolean(), stdout: path, stderr: path, decorateFiles: fc.boolean(), rotate };
const logger = optional({
  ...processLogger,
  decorate: fc.boolean(),
  colors: fc.boolean(),
  internalLogHours: fc.constantFrom(0, 24, 366),
  internalLogSize: size,
});
const watcher = optional({
  interval: fc.integer({ min: 1, max: 5000 }),
  exts: fc.constant(["ts"]),
  match: fc.constant(["**"]),
});
const origins = fc.constantFrom([], ["https://App.example.org"]);
const hosts = fc.constantFrom([], ["Procman.example.org"]);
const revoked = fc.constantFrom([], ["ci"]);
const hostname = fc.constantFrom("127.0.0.1", "0.0.0.0", "localhost");
const api = fc.oneof(
  fc.constant(false),
  optional({ hostname, port: fc.constant(7000), revoked, hosts, cors: origins }),
);
const ready = fc.oneof(
  fc.constantFrom(
    { port: 80 },
    { http: "http://localhost:81/up" },
    { exec: "true" },
    { log: "up" },
    { fd: 5 },
    { message: true },
  ),
  fc.constantFrom({ port: "{port}", timeout: 5 }, { log: "up", timeout: 30 }),
);
const health = fc.constantFrom(
  { port: 80 },
  { exec: "true", interval: 1 },
  { http: "http://[::1]:82", failures: 3, startPeriod: 2 },
);
const variable = fc.oneof(
  fc.constantFrom<string | number | boolean>("", "x", "${HOME}", "$${A}", 1.5, -2, true, false),
  fc.record({ file: expandedPath }),
  fc.constant({ env: "HOME" }),
);
const folders = fc.oneof(pathList, fc.array(pathList, { minLength: 1, maxLength: 2 }));
const envFile = fc.oneof(
  expandedPath,
  fc.record({ path: expandedPath, optional: fc.boolean() }, { requiredKeys: ["path"] }),
);
const environment = {
  env: fc.dictionary(fc.constantFrom("A", "B", "PATH", "__proto__"), variable, { noNullPrototype: true }),
  envFile: fc.oneof(envFile, fc.array(envFile, { minLength: 1, maxLength: 2 })),
};

/** A part of a process: what a profile may have, too. `number` keeps its ports and files apart from those of others. */
const processPart = (number: number) => {
  const ports = { startPort: fc.constant(10_000 + 100 * number), commonPort: fc.constant(9_000 + number) };
  const balancer = {
    strategy: fc.constantFrom("round-robin", "ip-hash"),
    proxyProtocol: fc.boolean(),
    idleTimeout: fc.nat(5),
  };
  const cluster = fc.record(
    {
      instances: fc.constantFrom<number | "max">(1, 3, "max"),
      ...{ ...ports, ...balancer, hostname, mode: fc.constantFrom("balance", "share"), maxConnections: fc.constant(5) },
    },
    { requiredKeys: ["instances"] },
  );
  const dependency = fc.integer({ min: 0, max: Math.max(0, number - 1) }).chain((other) =>
    fc.oneof(
      fc.constant(`p${other}`),
      fc.record(
        {
          id: fc.constant(`p${other}`),
          condition: fc.constantFrom("started", "ready", "finished", "completed"),
          restart: fc.boolean(),
        },
        { requiredKeys: ["id"] },
      ),
    ),
  );
  return optional({
    cwd: expandedPath,
    ...environment,
    path: folders,
    pathFirst: folders,
    pidFile: fc.constantFrom("{id}.pid", "~/run/{id}.pid"),
    ...{
      timeout: fc.nat(9),
      overrun: fc.boolean(),
      autostart: fc.boolean(),
      inheritEnv: fc.oneof(fc.boolean(), fc.constantFrom([], ["A", "AWS_*"])),
    },
    cron: fc.constantFrom("0 3 * * *", undefined),
    watch: fc.array(path, { maxLength: 2 }),
    restart: fc.constantFrom("always", "error"),
    ...{
      restartDelayMs: fc.nat(9),
      restartLimit: fc.nat(9),
      restartResetMs: fc.constantFrom(60_000, 5),
      minUptimeMs: fc.constantFrom(1000, 5),
      successExitCodes: fc.constantFrom([], [3, "SIGTERM"]),
    },
    ...{ terminateGracePeriod: fc.nat(3), terminateTimeout: fc.nat(40) },
    stopSignal: fc.constantFrom("SIGTERM", "SIGINT"),
    reloadSignal: fc.constantFrom("SIGHUP", "SIGUSR2"),
    killMode: fc.constantFrom("group", "leader"),
    logger: optional(processLogger),
    ...{ ready, health, nice: fc.nat(3), umask: fc.constant("027"), memoryLimit: size },
    ...(number > 0 && { dependsOn: fc.uniqueArray(dependency, { maxLength: 1 }) }),
    cluster,
  });
};

const program = fc.oneof(
  fc.record({ cmd: fc.constantFrom("node a.js", "true"), node: fc.boolean() }, { requiredKeys: ["cmd"] }),
  fc.record({ worker: fc.oneof(path, fc.tuple(path, fc.constant("./argument"))) }),
);

const process = (number: number): fc.Arbitrary<RawProcess> =>
  fc.tuple(program, processPart(number)).map(([run, part]) => ({ id: `p${number}`, ...run, ...part }) as RawProcess);

const plugins = fc.array(
  fc.constantFrom(
    { url: "./slack.js" },
    { url: "~/mine.js" },
    { url: "procman/otlp", options: { endpoint: "http://x" } },
  ),
  {
    maxLength: 2,
  },
);

/** What is allowed at the top level and in a profile. */
const shared = { logger, watcher, api, plugins, terminateGracePeriod: fc.nat(3), terminateTimeout: fc.nat(40) };

const profile: fc.Arbitrary<Part> = fc
  .tuple(optional(shared), fc.option(processPart(0)), fc.option(process(9)))
  .map(([top, known, added]) => ({
    ...top,
    ...((known ?? added) && { processes: [...(known ? [{ id: "p0", ...known }] : []), ...(added ? [added] : [])] }),
  }));

export const anyConfiguration: fc.Arbitrary<RawConfig> = fc
  .tuple(
    optional({ name: fc.constantFrom("shop", "a.b"), ...shared, profiles: fc.record({ ci: profile }) }),
    fc
      .integer({ min: 0, max: 3 })
      .chain((count) => fc.tuple(...Array.from({ length: count }, (_, number) => process(number)))),
  )
  .map(([top, processes]) => structuredClone({ ...top, processes }) as RawConfig);

/** The same, with `defaults`, and processes that extend the one before them, but for its cluster, whose ports it has. */
export const inheritingConfiguration: fc.Arbitrary<RawConfig> = fc
  .tuple(anyConfiguration, processPart(0), fc.array(fc.boolean(), { minLength: 50, maxLength: 50 }))
  .map(([config, { cluster: _cluster, ...part }, choices]) => {
    const isChosen = ([name]: readonly [string, unknown], index: number): boolean =>
      Object.hasOwn(INHERITABLE, name) && choices[index] === true;
    let hasCluster = false;
    const processes = config.processes.map((process, index) => {
      const before = config.processes[index - 1];
      const { cmd, worker, ...own } = process;
      const inherits = before !== undefined && choices.at(-index) === true;
      const withoutCluster = inherits && hasCluster && process.cluster === undefined && { cluster: null };
      hasCluster = process.cluster !== undefined || (inherits && hasCluster);
      if (!inherits) return process;
      return { ...own, ...(choices[index] === true && { cmd, worker }), ...withoutCluster, extends: before.id };
    });
    const defaults = Object.fromEntries(Object.entries(part).filter(isChosen));
    return { ...config, defaults, processes } as unknown as RawConfig;
  });
