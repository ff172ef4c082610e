/** What a limited token sees: the processes of its limits, and procman's texts without the names of others. */
import { ProcmanError } from "../base/errors.ts";
import { withoutEnd } from "../base/text-end.ts";
import type { ProcessSpec } from "../config/spec.ts";
import type { EndRecord, RequestRecord, StatusCause } from "../contract/causes.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { Category, LogEntry, ProcessRecord } from "../contract/records.ts";
import { type Incident, isRunEnd, type RunSummary } from "../contract/run-summary.ts";
import type { TokenLimits } from "../contract/token-claims.ts";
import { dependenciesText, HIDDEN, reasonText, statusText } from "../contract/words.ts";
import type { LogView } from "../log-store/filter.ts";
import type { Specs } from "./services.ts";

/** Written by the processes themselves, so procman names no other in it. */
const OWN_TEXT: ReadonlySet<Category> = new Set(["stdout", "stderr", "log"]);

/** Texts that repeat the request, and name only what is seen: a replaced word would prove that it is the id of another process. */
const REPEATS_REQUEST: ReadonlySet<string> = new Set(["process-unknown", "process-foreign", "input-invalid", "usage"]);

/** Members of causes that come from probes, programs and the system: one may name another process. */
const FOREIGN_TEXTS: ReadonlySet<string> = new Set([
  "message",
  "problem",
  "logProblem",
  "connectionProblem",
  "program",
]);

export class TokenView implements LogView {
  readonly #limits: TokenLimits;
  readonly #specs: Pick<Specs, "all">;
  #index = newIndex([]);

  constructor(limits: TokenLimits, specs: Pick<Specs, "all">) {
    this.#limits = limits;
    this.#specs = specs;
  }

  /** A removed process is seen if the limits name it, or its cluster. */
  readonly allows = (id: string, instance = 0): boolean => {
    const { byId, byCluster } = this.#present;
    const spec = byId.get(id);
    const cluster = spec === undefined && instance > 0 ? clusterIn(id) : spec?.cluster?.id;
    const { groups = [] } = spec ?? byCluster.get(cluster ?? "")?.[0] ?? {};
    const { processes, groups: allowed } = this.#limits;
    return processes.some((each) => each === id || each === cluster) || groups.some((group) => allowed.includes(group));
  };

  readonly shown = (entry: LogEntry): LogEntry =>
    OWN_TEXT.has(entry.category) ? entry : { ...entry, text: this.text(entry.text) };

  /** Words that are ids of others are replaced. A path is not an id. */
  text(text: string): string {
    return text.replace(/[\w./-]+/g, (word) => {
      if (this.#isHidden(word)) return HIDDEN;
      const name = withoutEnd(word, ".");
      return name !== word && this.#isHidden(name) ? `${HIDDEN}${word.slice(name.length)}` : word;
    });
  }

  record(record: ProcessRecord): ProcessRecord {
    const { dependsOn, instances, waitsFor: _, skippedBy = [], cause, ...rest } = record;
    const skipping = skippedBy.filter((id) => !this.#isHidden(id));
    const seen = cause && this.#cause(cause);
    const { scale } = rest;
    const refused = scale?.refused;
    return {
      ...rest,
      // A number may be refused because of another process.
      ...(scale && refused && { scale: { ...scale, refused: { ...refused, reason: this.text(refused.reason) } } }),
      ...(seen && { cause: seen, reason: statusText(record, seen) }),
      ...(seen?.waitsFor?.length && { waitsFor: dependenciesText(seen.waitsFor) }),
      ...(dependsOn && { dependsOn: dependsOn.filter(({ process }) => !this.#isHidden(process)) }),
      ...(skipping.length > 0 && { skippedBy: skipping }),
      ...(instances && { instances: instances.map((instance) => this.record(instance)) }),
    } as ProcessRecord;
  }

  #cause({ waitsFor, skip, stop, end, next, ...cause }: StatusCause): StatusCause {
    const named = <T extends { readonly process: string }>(each: T): T => ({
      ...each,
      process: this.#name(each.process),
    });
    const dependents = stop?.dependents?.map((id) => this.#name(id));
    return {
      ...this.#texts(cause),
      ...(waitsFor && { waitsFor: waitsFor.map(named) }),
      ...(skip && { skip: { ...named(skip), path: skip.path.map((id) => this.#name(id)), ...this.#endIn(skip) } }),
      ...(stop && { stop: { ...stop, ...(dependents && { dependents }) } }),
      ...this.#endIn({ end }),
      ...(next && { next: next.process === undefined ? next : { ...next, process: this.#name(next.process) } }),
    };
  }

  #endIn({ end }: { readonly end?: EndRecord | undefined }): { readonly end?: EndRecord } {
    return end === undefined ? {} : { end: this.#end(end) };
  }

  #texts<Data extends object>(data: Data): Data {
    const members = Object.entries(data).map(([name, member]) => [
      name,
      FOREIGN_TEXTS.has(name) ? this.text(member) : member,
    ]);
    return Object.fromEntries(members) as Data;
  }

  #name(id: string): string {
    return this.#isHidden(id) ? HIDDEN : id;
  }

  incident(incident: Incident): Incident {
    if (!isRunEnd(incident)) return { ...incident, reason: this.text(incident.reason) };
    return { ...incident, ...this.#endOf(incident), lines: incident.lines.map(this.shown) };
  }

  run(run: RunSummary): RunSummary {
    return { ...run, ...this.#endOf(run) };
  }

  /** The end without names of others, and the sentence that is made of that. A record of procman 1.0.0 has its code alone. */
  #endOf({ cause, code, signal, end }: Pick<RunSummary, "cause" | "code" | "signal" | "end">): Partial<RunSummary> {
    if (cause === undefined) return {};
    if (end === undefined)
      return { reason: reasonText({ kind: cause, ...(code !== undefined && { code }), ...(signal && { signal }) }) };
    const seen = this.#end(end);
    return { end: seen, reason: reasonText(seen) };
  }

  #end({ port, request, ...end }: EndRecord): EndRecord {
    return {
      ...this.#texts(end),
      ...(port && { port: this.#texts(this.#withoutOther(port)) }),
      ...(request && { request: this.#request(request) }),
    };
  }

  /** The reason of a shutdown may be that another process is over. */
  #request({ reason: _, ...request }: RequestRecord): RequestRecord {
    return this.#withoutOther(request);
  }

  #withoutOther<T extends { readonly process?: string }>({ process, ...rest }: T): Omit<T, "process"> {
    return process === undefined || this.#isHidden(process) ? rest : { ...rest, process };
  }

  /** undefined for what it doesn't see. `service.state` counts all processes: the caller replaces it. */
  event(event: EventRecord): EventRecord | undefined {
    switch (event.type) {
      case "process.state":
        return this.allows(event.process.id, event.process.instance)
          ? {
              ...event,
              process: this.record(event.process),
              ...(event.text === undefined ? {} : { text: this.text(event.text) }),
            }
          : undefined;
      case "process.scheduled":
        return this.allows(event.process) ? { ...event, text: this.text(event.text) } : undefined;
      case "process.scaled":
        return this.#scaled(event);
      case "process.watch":
        return this.allows(event.process) ? event : undefined;
      case "process.telemetry":
        return this.allows(event.report.process) ? event : undefined;
      case "process.incident":
        return this.#seesIncident(event.incident) ? { ...event, incident: this.incident(event.incident) } : undefined;
      case "log":
        // The log is read through this view.
        return event;
      case "plugin.state":
      case "configuration.applied":
      case "rollout.phase":
        return undefined;
      case "service.state":
        return event;
      default:
        return event satisfies never;
    }
  }

  /** Refused growth is about a cluster. */
  #seesIncident(incident: Incident): boolean {
    return isRunEnd(incident) ? this.allows(incident.process) : !this.#isHidden(incident.process);
  }

  /** About a cluster of which it sees an instance. */
  #scaled<Event extends { readonly process: string; readonly text: string }>(event: Event): Event | undefined {
    return this.#isHidden(event.process) ? undefined : { ...event, text: this.text(event.text) };
  }

  error(error: unknown): unknown {
    if (!(error instanceof ProcmanError)) return error;
    const { code, message, faults, cause, processes, taken } = error;
    if (REPEATS_REQUEST.has(code)) return error;
    // It quotes the configuration file, in which other processes are, too.
    const isOfFile = faults.length > 0 || cause !== undefined || code.startsWith("configuration");
    const refused = "Cannot do it: the configuration file doesn't allow it; a token without limits gets the reason";
    const options = { processes: processes.filter((id) => !this.#isHidden(id)), taken };
    return new ProcmanError(code, isOfFile ? refused : this.text(message), options);
  }

  /** Whether this is the id of a process, an instance (also a former one) or a cluster that is not seen. */
  #isHidden(id: string): boolean {
    const { byId, byCluster } = this.#present;
    const known = byId.has(id)
      ? [byId.get(id) as ProcessSpec]
      : (byCluster.get(id) ?? byCluster.get(clusterIn(id)) ?? []);
    return known.length > 0 && !known.some((spec) => this.allows(spec.id));
  }

  get #present(): SpecIndex {
    const { all: specs } = this.#specs;
    if (specs !== this.#index.specs) this.#index = newIndex(specs);
    return this.#index;
  }
}

type SpecIndex = {
  readonly specs: readonly ProcessSpec[];
  readonly byId: ReadonlyMap<string, ProcessSpec>;
  readonly byCluster: ReadonlyMap<string, readonly ProcessSpec[]>;
};

function newIndex(specs: readonly ProcessSpec[]): SpecIndex {
  const byCluster = new Map<string, ProcessSpec[]>();
  for (const spec of specs)
    if (spec.cluster !== undefined) byCluster.set(spec.cluster.id, [...(byCluster.get(spec.cluster.id) ?? []), spec]);
  return { specs, byId: new Map(specs.map((spec) => [spec.id, spec])), byCluster };
}

function clusterIn(instance: string): string {
  return instance.replace(/-\d+$/, "");
}
