/** The configurations that a reload applies on its way to that of the file. */
import { compact } from "../../base/compact.ts";
import type { Config } from "../../config/spec.ts";
import type { Specs } from "../services.ts";

/** The target configuration with the pending instances as they are now. */
export function intermediateConfig(to: Config, specs: Specs, pending: ReadonlySet<string>): Config {
  if (pending.size === 0) return to;
  const present = new Set(to.processes.map(({ id }) => id));
  const processes = to.processes.map((spec) => (pending.has(spec.id) ? specs.of(spec.id) : spec));
  const leaving = [...pending].flatMap((id) => (present.has(id) ? [] : (specs.configured(id) ?? [])));
  return { ...to, processes: [...processes, ...leaving] };
}

/** Settings that can't change while procman runs keep their values. */
export function withFixedSettings(config: Config, { name, stateDir, api }: Config): Config {
  const { revoked, group, exec } = config.api;
  return { ...config, name, stateDir, api: compact({ ...api, revoked, group, exec }) };
}
