/** `Control` for a limited token: every answer, event and error without the processes that it doesn't see. */
import { ProcmanError } from "../base/errors.ts";
import type { Action, ActOptions, Control, Scaling, Signalling } from "../contract/control.ts";
import type { EventRecord, EventType } from "../contract/event-record.ts";
import type {
  Incident,
  LogEntry,
  LogItem,
  LogPage,
  LogQuery,
  LogSubmission,
  MetricPoint,
  MetricQuery,
  ProcessRecord,
  RunPage,
  RunQuery,
  TelemetryReport,
} from "../contract/records.ts";
import type { StateRecord } from "../contract/state-record.ts";
import type { TokenView } from "./view.ts";

/** `control` finds only the processes of the view. */
export class LimitedControl implements Control {
  readonly #control: Control;
  readonly #view: TokenView;

  constructor(control: Control, view: TokenView) {
    this.#control = control;
    this.#view = view;
  }

  async processes(): Promise<readonly ProcessRecord[]> {
    const records = await this.#ask((control) => control.processes());
    return records.map((record) => this.#view.record(record));
  }

  process(id: string): Promise<ProcessRecord> {
    return this.#record((control) => control.process(id));
  }

  /** Plugins watch all processes. */
  async state(): Promise<StateRecord> {
    const { plugins: _, ...state } = await this.#ask((control) => control.state());
    return state;
  }

  act(id: string, action: Action, options?: ActOptions): Promise<ProcessRecord> {
    return this.#record((control) => control.act(id, action, options));
  }

  scale(id: string, scaling: Scaling, options?: ActOptions): Promise<ProcessRecord> {
    return this.#record((control) => control.scale(id, scaling, options));
  }

  signal(id: string, signalling: Signalling): Promise<ProcessRecord> {
    return this.#record((control) => control.signal(id, signalling));
  }

  /** Command lines may have secrets. */
  definitions(): Promise<never> {
    return refused("show it");
  }

  plan(): Promise<never> {
    return refused("plan a reload");
  }

  reload(): Promise<never> {
    return refused("reload");
  }

  terminate(): Promise<never> {
    return refused("terminate");
  }

  flush(): Promise<never> {
    return refused("flush the logs");
  }

  logs(query: LogQuery): Promise<LogPage> {
    return this.#ask((control) => control.logs(query));
  }

  async *follow(query: LogQuery, signal: AbortSignal): AsyncGenerator<LogItem> {
    try {
      yield* this.#control.follow(query, signal);
    } catch (error) {
      throw this.#view.error(error);
    }
  }

  async log(submission: LogSubmission): Promise<LogEntry> {
    if (submission.process === undefined)
      throw new ProcmanError(
        "process-foreign",
        'Cannot log: the token is limited to some processes; name one of them as "process"',
      );
    return this.#ask((control) => control.log(submission));
  }

  telemetry(report: TelemetryReport): Promise<void> {
    return this.#ask((control) => control.telemetry(report));
  }

  metrics(id: string, query: MetricQuery): Promise<readonly MetricPoint[]> {
    return this.#ask((control) => control.metrics(id, query));
  }

  async incidents(id: string, limit?: number): Promise<readonly Incident[]> {
    const incidents = await this.#ask((control) => control.incidents(id, limit));
    return incidents.map((incident) => this.#view.incident(incident));
  }

  async runs(id: string, query?: RunQuery): Promise<RunPage> {
    const page = await this.#ask((control) => control.runs(id, query));
    return { ...page, runs: page.runs.map((run) => ({ ...run, reason: this.#view.text(run.reason) })) };
  }

  prometheus(): Promise<string> {
    return this.#ask((control) => control.prometheus());
  }

  async *events(
    after: string | undefined,
    signal: AbortSignal,
    types?: readonly EventType[],
  ): AsyncGenerator<EventRecord> {
    try {
      for await (const event of this.#control.events(after, signal, types)) {
        const seen = this.#view.event(event);
        if (seen?.type === "service.state") yield { ...seen, state: await this.#counted(seen.state) };
        else if (seen !== undefined) yield seen;
      }
    } catch (error) {
      throw this.#view.error(error);
    }
  }

  async #counted({ plugins: _, ...state }: StateRecord): Promise<StateRecord> {
    return { ...state, processes: (await this.state()).processes };
  }

  async #record(call: (control: Control) => Promise<ProcessRecord>): Promise<ProcessRecord> {
    return this.#view.record(await this.#ask(call));
  }

  async #ask<T>(call: (control: Control) => Promise<T>): Promise<T> {
    try {
      return await call(this.#control);
    } catch (error) {
      throw this.#view.error(error);
    }
  }
}

/** These concern all processes. The API has refused them already: they need the scope `admin`. */
function refused(what: string): Promise<never> {
  return Promise.reject(new ProcmanError("scope-missing", `Cannot ${what}: the token is limited to some processes`));
}
