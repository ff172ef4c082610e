/** Fills the defaults into a configuration that was checked. It keeps the shape of the file, so that it can be checked and run again. */
import { API, type RawConfig, type RawProcess, TOP } from "./config-schema.ts";
import { CLUSTER } from "./fields/cluster-fields.ts";
import { DEPENDENCY } from "./fields/dependency-fields.ts";
import type { Fields } from "./fields/field.ts";
import { HOOK } from "./fields/hook-fields.ts";
import { IDLE } from "./fields/idle-fields.ts";
import { LOGGER, ROTATION } from "./fields/logger-fields.ts";
import { HEALTH, READY } from "./fields/probe-fields.ts";
import { PROCESS } from "./fields/process-fields.ts";
import { SCALE } from "./fields/scale-fields.ts";
import { WATCHER } from "./fields/watcher-fields.ts";

/**
 * What is there stays as it is written. What a process inherits is filled in at the top level alone, and a value that a
 * profile could make invalid is left out, so that each profile means the same as before.
 */
export function withDefaults(raw: RawConfig): RawConfig {
  const { logger = {}, watcher = {}, api = {}, processes } = raw;
  const { rotate = {} } = logger;
  const hasProfiles = Object.keys(raw.profiles ?? {}).length > 0;
  return {
    ...filled(raw, TOP),
    processes: processes.map((process) => processWithDefaults(process, hasProfiles)),
    logger: { ...filled(logger, LOGGER), rotate: rotate === false ? false : filled(rotate, ROTATION) },
    watcher: filled(watcher, WATCHER),
    api: api === false ? false : filled(api, API),
  };
}

function processWithDefaults(process: RawProcess, hasProfiles: boolean): RawProcess {
  const { ready, health, cluster, scale, dependsOn, hooks, idle } = process;
  return {
    ...filled(process, PROCESS),
    ...(ready && { ready: filled(ready, READY) }),
    ...(health && { health: filled(health, HEALTH) }),
    ...(hooks && { hooks: hooksWithDefaults(hooks) }),
    ...(idle && { idle: filled(idle, IDLE) }),
    ...(cluster && { cluster: filled(cluster, clusterFields(cluster, hasProfiles)) }),
    ...(scale && { scale: filled(scale, SCALE) }),
    ...(dependsOn && {
      dependsOn: dependsOn.map((entry) => (typeof entry === "string" ? entry : filled(entry, DEPENDENCY))),
    }),
  };
}

function hooksWithDefaults(hooks: NonNullable<RawProcess["hooks"]>): NonNullable<RawProcess["hooks"]> {
  return Object.fromEntries(
    Object.entries(hooks).map(([name, hook]) => [name, typeof hook === "object" ? filled(hook, HOOK) : hook]),
  );
}

/** The fields that mean something in this cluster: those of the load balancer only if it has one, and no profile can remove it. */
function clusterFields({ commonPort, mode }: NonNullable<RawProcess["cluster"]>, hasProfiles: boolean): Fields {
  if (commonPort === undefined) return { mode: CLUSTER.mode };
  return mode === "share" || hasProfiles ? { mode: CLUSTER.mode, hostname: CLUSTER.hostname } : CLUSTER;
}

function filled<Section extends object>(section: Section, fields: Fields): Section {
  const missing = Object.entries(fields).filter(
    ([name, field]) => field.default !== undefined && !Object.hasOwn(section, name),
  );
  return { ...section, ...Object.fromEntries(missing.map(([name, field]) => [name, field.default])) };
}
