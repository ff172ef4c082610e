/** Turns what procman answers into inputs of the model: records, events, log lines; and carries out what the user asks for. */
import { outcomeOf } from "../../cli/output/format.ts";
import { defaultTimeout } from "../../client/default-timeout.ts";
import { InputQueue } from "../../client/input-queue.ts";
import type { StreamObserver } from "../../client/subscription.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import type { Control } from "../../core/contract/control.ts";
import type { EventType } from "../../core/contract/event-record.ts";
import type { ProcessRecord } from "../../core/contract/records.ts";
import { LogFollower } from "./log-follower.ts";
import type { MonitorEffect, MonitorInput } from "./monitor-model.ts";
import { historyStart } from "./usage-history.ts";

/** CPU and memory change without an event. Milliseconds. */
const POLL_MS = 2_000;
/** After an event; others often follow at once. Milliseconds. */
const SOON_MS = 30;
/** Pauses between refreshes are this many times as long as a refresh, so that many processes don't keep the service busy, and at most this long. */
const REST = { quiet: { times: 50, mostMs: 10_000 }, changing: { times: 10, mostMs: 2_000 } };
/** Pauses before the next attempts to connect; the last one repeats. Milliseconds. */
const RETRY_MS = [1_000, 2_000, 3_000] as const;
/** How long results are shown. Milliseconds. */
const NOTICE_MS = 8_000;
const INCIDENTS = 100;
/** Step of the curves of a page. Seconds. */
const CURVE_STEP = 60;
const TYPES: readonly EventType[] = [
  "process.state",
  "process.scheduled",
  "process.watch",
  "process.incident",
  "plugin.state",
  "service.state",
];
const CUT: readonly string[] = ["ECONNRESET", "EPIPE", "ECONNREFUSED"];

export type FeedPorts = {
  readonly connect: (observer: StreamObserver) => Promise<Control>;
  /** Why there are no logs; undefined: there are. */
  readonly logProblem: () => string | undefined;
  readonly dispatch: (input: MonitorInput) => void;
};

type AskingEffect = MonitorEffect & { readonly type: "act" | "scale" | "inspect" | "send" | "terminate" };

export class LiveFeed {
  readonly #ports: FeedPorts;
  readonly #closing = new AbortController();
  readonly #log: LogFollower;
  /** Ids whose stored curves were asked for, and those that wait for it. */
  readonly #known = new Set<string>();
  #wanted: readonly string[] = [];
  #isReadingHistory = false;
  /** What waits for processes that don't read, by id. */
  readonly #queues = new Map<string, InputQueue>();
  /** Absent while the connection is lost. */
  #control: Control | undefined;
  #isChanged = false;
  #onChange = (): void => undefined;
  /** Id of the last event. Ids are times in microseconds: those since now are wanted. */
  #after = String(Date.now() * 1_000);

  constructor(ports: FeedPorts) {
    this.#ports = ports;
    this.#log = new LogFollower({ dispatch: ports.dispatch, problem: ports.logProblem });
  }

  /** The first connection, and the first records. @throws {ProcmanError} `no-daemon`, `service-down` */
  async open(): Promise<void> {
    this.#control = await this.#connected();
  }

  /** Resolves after `close`. Rejects only with a bug. */
  async run(): Promise<void> {
    const { signal } = this.#closing;
    for (let attempt = 0; !signal.aborted; ) {
      try {
        const control = this.#control ?? (await this.#connected());
        attempt = 0;
        await this.#session(control);
      } catch (error) {
        this.#control = undefined;
        if (signal.aborted) return;
        if (!isLoss(error)) throw error;
        await this.#pause(error as Error, RETRY_MS[attempt] ?? RETRY_MS[2]);
        attempt += 1;
      }
    }
  }

  close(): void {
    this.#closing.abort();
    this.#log.close();
  }

  /** Whose log is shown; undefined: none. */
  follow(id: string | undefined): void {
    this.#log.follow(id, this.#control);
  }

  /** Processes whose curves are on the screen. */
  wantHistories(ids: readonly string[]): void {
    this.#wanted = ids.filter((id) => !this.#known.has(id));
    if (this.#wanted.length > 0 && !this.#isReadingHistory) void this.#readHistories();
  }

  ask(effect: AskingEffect): void {
    if (effect.type === "inspect") void this.#inspect(effect.id);
    else if (effect.type === "send") void this.#send(effect);
    else void (effect.type === "terminate" ? this.#terminate() : this.#act(effect));
  }

  async #connected(): Promise<Control> {
    const { connect, dispatch } = this.#ports;
    const control = await connect({
      opened: () => this.#opened(),
      lost: () => dispatch({ type: "connection", connection: { state: "lost", since: Date.now() }, now: Date.now() }),
    });
    const [records, { name, profile, system }] = await Promise.all([control.processes(), control.state()]);
    dispatch({ type: "connection", connection: { state: "open" }, now: Date.now() });
    dispatch({ type: "service", name, profile, machine: system });
    dispatch({ type: "processes", records, now: Date.now() });
    return control;
  }

  #opened(): void {
    this.#ports.dispatch({ type: "connection", connection: { state: "open" }, now: Date.now() });
    this.#change();
  }

  /** Ends with the error that ends the connection. */
  async #session(control: Control): Promise<void> {
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, this.#closing.signal]);
    this.#control = control;
    this.#queues.clear();
    this.#log.connected(control);
    const both = [this.#readEvents(control, signal), this.#refresh(control, signal)];
    try {
      await Promise.race(both);
    } finally {
      stop.abort();
      // The first error says why the connection is lost; others follow from it.
      void Promise.allSettled(both);
    }
  }

  async #readEvents(control: Control, signal: AbortSignal): Promise<void> {
    const { dispatch } = this.#ports;
    for await (const event of control.events(this.#after, signal, TYPES)) {
      this.#after = event.id;
      if (event.type === "process.incident") dispatch({ type: "incident", incident: event.incident });
      if (event.type === "service.state")
        dispatch({ type: "service", name: event.state.name, profile: event.state.profile });
      this.#change();
    }
  }

  #change(): void {
    this.#isChanged = true;
    this.#onChange();
  }

  /** All records again after each change, since states of clusters follow from those of their instances. */
  async #refresh(control: Control, signal: AbortSignal): Promise<void> {
    let took = 0;
    for (;;) {
      await this.#untilDue(took, signal);
      if (signal.aborted) return;
      this.#isChanged = false;
      const began = performance.now();
      const records = await control.processes();
      took = performance.now() - began;
      if (!signal.aborted) this.#ports.dispatch({ type: "processes", records, now: Date.now() });
    }
  }

  #untilDue(took: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const due = (): void => {
        clearTimeout(timer);
        this.#onChange = () => undefined;
        signal.removeEventListener("abort", due);
        resolve();
      };
      let timer = setTimeout(due, Math.max(POLL_MS, restAfter(took, REST.quiet)));
      this.#onChange = () => {
        this.#onChange = () => undefined;
        clearTimeout(timer);
        timer = setTimeout(due, Math.max(SOON_MS, restAfter(took, REST.changing)));
      };
      if (this.#isChanged) this.#onChange();
      signal.addEventListener("abort", due, { once: true });
    });
  }

  /** Says what has happened and when it is tried again, and waits. */
  async #pause({ message, code }: NodeJS.ErrnoException, ms: number): Promise<void> {
    const { dispatch } = this.#ports;
    const now = Date.now();
    const why = message.split("\n")[0] ?? message;
    const lost = { state: "lost", since: now, why, isEnded: code === "no-daemon" } as const;
    dispatch({ type: "connection", connection: { ...lost, retryAt: now + ms }, now });
    await new Promise<void>((resolve) => {
      setTimeout(resolve, ms);
      this.#closing.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    dispatch({ type: "connection", connection: lost, now: Date.now() });
  }

  /** One after another: the records come first. */
  async #readHistories(): Promise<void> {
    this.#isReadingHistory = true;
    for (let [id] = this.#wanted; id !== undefined && this.#control !== undefined; [id] = this.#wanted) {
      try {
        const points = await this.#control.metrics(id, { from: historyStart(Date.now()) });
        this.#ports.dispatch({ type: "history", id, points });
      } catch (error) {
        // It is asked for again when the connection is back.
        if (!(error instanceof ProcmanError) || error.code === "service-down") break;
      }
      // A process that was removed meanwhile has no curve.
      this.#known.add(id);
      this.#wanted = this.#wanted.filter((each) => each !== id);
    }
    this.#isReadingHistory = false;
  }

  async #inspect(id: string): Promise<void> {
    const { dispatch } = this.#ports;
    try {
      if (this.#control === undefined) return;
      const asked = [
        this.#control.incidents(id, INCIDENTS),
        this.#control.metrics(id, { stepSeconds: CURVE_STEP }),
      ] as const;
      const [incidents, points] = await Promise.all(asked);
      dispatch({ type: "detail", id, answer: { incidents, points } });
    } catch (error) {
      dispatch({ type: "detail-problem", id, problem: (error as Error).message });
    }
  }

  async #act(effect: AskingEffect & { readonly type: "act" | "scale" }): Promise<void> {
    const { id } = effect;
    const what = effect.type === "scale" ? "scale" : effect.action;
    this.#say(`${what} ${id} …`, false);
    try {
      const record = await this.#carryOut(effect);
      this.#say(
        record === undefined ? `Cannot ${what} ${id}: the connection is lost` : `${what} ${id}: ${outcomeOf(record)}`,
        false,
      );
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#say((error as Error).message, true);
    }
  }

  /** In order; what the process doesn't read waits. */
  async #send({ id, text }: AskingEffect & { readonly type: "send" }): Promise<void> {
    const queue = this.#queueOf(id);
    try {
      if (queue === undefined) this.#say(`Cannot send to ${id}: the connection is lost`, true);
      else await queue.send(text);
    } catch (error) {
      void queue?.drop();
      if (!this.#closing.signal.aborted) this.#say((error as Error).message, true);
    }
  }

  #queueOf(id: string): InputQueue | undefined {
    const full = (isFull: boolean): void => {
      if (isFull) this.#say(`${id} doesn't read its input; what you type waits until it does`, true);
    };
    const queue = this.#queues.get(id) ?? (this.#control && new InputQueue(this.#control, id, full));
    if (queue !== undefined) this.#queues.set(id, queue);
    return queue;
  }

  async #terminate(): Promise<void> {
    this.#say("procman stops its processes, then ends …", false);
    try {
      await this.#control?.terminate();
    } catch (error) {
      if (!this.#closing.signal.aborted) this.#say((error as Error).message, true);
    }
  }

  async #carryOut(effect: AskingEffect): Promise<ProcessRecord | undefined> {
    const { signal } = this.#closing;
    if (effect.type === "scale")
      return this.#control?.scale(effect.id, { by: effect.by }, { waitSeconds: defaultTimeout("start"), signal });
    if (effect.type !== "act") return undefined;
    const { id, action, hard } = effect;
    return this.#control?.act(id, action, { waitSeconds: defaultTimeout(action), signal, ...(hard && { hard }) });
  }

  /** A problem stays until a key is pressed. */
  #say(text: string, isProblem: boolean): void {
    const shown = text.split("\n").join("; ");
    this.#ports.dispatch({
      type: "notice",
      notice: { text: shown, isProblem, ...(!isProblem && { until: Date.now() + NOTICE_MS }) },
    });
  }
}

/** Milliseconds. */
function restAfter(took: number, { times, mostMs }: (typeof REST)["quiet"]): number {
  return Math.min(took * times, mostMs);
}

/** Whether the connection is lost, or procman refuses: another attempt may succeed. */
function isLoss(error: unknown): boolean {
  return error instanceof ProcmanError || CUT.includes((error as NodeJS.ErrnoException).code ?? "");
}
