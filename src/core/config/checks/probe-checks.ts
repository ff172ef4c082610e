/** `ready` and `health`: their checks, and the specifications made from them. */
import { isExpression } from "../../base/schema-check.ts";
import type { HealthSpec, Probe, ReadyProbe } from "../../contract/probe-spec.ts";
import type { RawProcess } from "../config-schema.ts";
import type { JsonPath } from "../document.ts";
import { milliseconds } from "../fields/field.ts";
import { HEALTH } from "../fields/probe-fields.ts";
import type { DeepPartial, PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";

export const READY_KINDS = ["port", "http", "log", "exec", "fd", "message"] as const;

export const HEALTH_KINDS = ["port", "http", "exec"] as const;

type RawHealth = NonNullable<RawProcess["health"]>;
type RawReady = NonNullable<RawProcess["ready"]>;
type RawProbe = Pick<RawReady, "port" | "http" | "exec">;

/** Placeholder for the own port. */
const PORT_PLACEHOLDER = "{port}";

/** Beside the shared socket, which is 3. */
const MESSAGE_FD = 4;

/** The descriptor by which a run says that it is ready. */
export function readyDescriptor(ready: ReadyProbe): number | undefined {
  return ready.kind === "fd" ? ready.fd : ready.kind === "message" ? MESSAGE_FD : undefined;
}

/** Fills the placeholders of the process into a text. */
export type Filling = (text: string) => string;

export function readyProbe({ log, fd, message, ...probe }: RawReady, filled: Filling): ReadyProbe {
  if (log !== undefined) return { kind: "log", pattern: log };
  if (message === true) return { kind: "message" };
  return fd === undefined ? probeOf(probe, filled) : { kind: "fd", fd };
}

export function healthSpec(health: RawHealth, filled: Filling): HealthSpec {
  const { interval, timeout, failures = HEALTH.failures.default, startPeriod, ...probe } = health;
  return {
    probe: probeOf(probe, filled),
    intervalMs: milliseconds(HEALTH.interval, interval),
    timeoutMs: milliseconds(HEALTH.timeout, timeout),
    failures,
    startMs: milliseconds(HEALTH.startPeriod, startPeriod),
  };
}

function probeOf({ port, http = "", exec }: RawProbe, filled: Filling): Probe {
  if (exec !== undefined) return { kind: "exec", line: filled(exec) };
  if (port !== undefined) return { kind: "port", port: typeof port === "number" ? port : Number(filled(port)) };
  const url = new URL(filled(http));
  const hostname = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return { kind: "http", hostname, port: Number(url.port || 80), path: url.pathname + url.search };
}

/** Problems of `ready` and `health` of one process. */
export function probeFieldErrors(process: PartialProcess, path: JsonPath, config: PartialConfig): readonly Finding[] {
  const { health } = process;
  const at = [...path, "health"];
  const errors =
    health === undefined ? [] : [...kindErrors(health, HEALTH_KINDS, at), ...probeErrors(health, process, at)];
  return [...readyErrors(process, path, config), ...errors];
}

function readyErrors(process: PartialProcess, path: JsonPath, { logger }: PartialConfig): readonly Finding[] {
  const { ready, worker, node } = process;
  if (ready === undefined) return [];
  const at = [...path, "ready"];
  const errors = [...kindErrors(ready, READY_KINDS, at), ...probeErrors(ready, process, at)];
  const { log } = ready;
  if (log !== undefined && !isExpression(log))
    errors.push({ path: [...at, "log"], message: `Found ${show(log)}; allowed: a regular expression of JavaScript.` });
  if (ready.message === true && worker === undefined && node !== true)
    errors.push({
      path: [...at, "message"],
      at: "key",
      message:
        'Found "message" for a command that has no channel. Add "node": true if it is a Node program, or use another kind.',
    });
  if (log !== undefined && logger?.internalLogHours === 0)
    errors.push({
      path: [...at, "log"],
      at: "key",
      message:
        'Found "log" with "logger.internalLogHours" 0: lines are searched in the internal log. Keep that for an hour, or use another kind.',
    });
  return errors;
}

function kindErrors(given: object, kinds: readonly string[], path: JsonPath): Finding[] {
  const found = kinds.filter((kind) => kind in given);
  const allowed = kinds.map((kind) => JSON.stringify(kind)).join(", ");
  if (found.length === 0) return [{ path, message: `Found none of ${allowed}; allowed: exactly one of them.` }];
  const message = `Found ${found.map((kind) => show(kind)).join(" and ")}; allowed: exactly one of ${allowed}.`;
  return found.slice(1, 2).map((kind) => ({ path: [...path, kind], at: "key", message }));
}

function probeErrors(
  { port, http }: DeepPartial<RawProbe>,
  // With `idle.port` the program listens on another port, which procman chooses.
  { cluster, idle, port: own = cluster?.startPort ?? idle?.port }: PartialProcess,
  path: JsonPath,
): readonly Finding[] {
  const findings: Finding[] = [];
  const key = port === undefined ? "http" : "port";
  if (own === undefined && (port === PORT_PLACEHOLDER || http?.includes(PORT_PLACEHOLDER)))
    findings.push({
      path: [...path, key],
      message:
        cluster === undefined
          ? 'Found "{port}", but the process has no "port". Give it one, or write the number itself.'
          : 'Found "{port}", the port of an instance, without "cluster.startPort". Write the port itself.',
    });
  if (http !== undefined && !isAddress(http))
    findings.push({
      path: [...path, "http"],
      message: `Found ${show(http)}; allowed: an address such as "http://127.0.0.1:3000/health"; ${http.startsWith("https:") ? 'for https use "exec" with curl' : '"{port}" stands for its own port'}.`,
    });
  return findings;
}

function isAddress(http: string): boolean {
  try {
    const { protocol, hostname, username } = new URL(http.replace(/\{port(?::[a-z0-9._-]{1,64})?\}/g, "1"));
    return protocol === "http:" && hostname !== "" && username === "";
  } catch {
    return false;
  }
}
