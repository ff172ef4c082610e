/** `Control` in the thread of a plugin: asks the service, and reads what is stored itself. */
import type { ErrorCode } from "../base/errors.ts";
import { ERRORS, ProcmanError } from "../base/errors.ts";
import type { LogItem, LogPage, LogQuery } from "../contract/records.ts";
import { ASKED, type AskedError, type FromPlugin, type PluginQuestion, type ToPlugin } from "../ipc/plugin-protocol.ts";
import type { PluginControl } from "./plugin.ts";

/** A plugin that asks without waiting for answers grows nothing but its own errors. */
const MOST_OPEN = 100;

type PendingCall = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void };

export class ControlProxy {
  readonly #send: (message: FromPlugin) => void;
  readonly #waiting = new Map<number, PendingCall>();
  #last = 0;

  constructor(send: (message: FromPlugin) => void) {
    this.#send = send;
  }

  /** What a plugin gets. */
  control(stateDir: string): PluginControl {
    const asked = Object.fromEntries(ASKED.map((method) => [method, (...args: unknown[]) => this.#ask(method, args)]));
    return { ...asked, ...stored(stateDir) } as PluginControl;
  }

  answer({ number, value, error }: ToPlugin & { readonly t: "answer" }): void {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (error === undefined) waiting?.resolve(value);
    else waiting?.reject(errorOf(error));
  }

  async #ask(method: PluginQuestion, args: readonly unknown[]): Promise<unknown> {
    if (this.#waiting.size >= MOST_OPEN)
      throw new ProcmanError("too-many-requests", `Cannot ask for ${method}: ${MOST_OPEN} requests wait already; await their answers`);
    const [number, signal] = [++this.#last, signalIn(args)];
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
      signal?.addEventListener("abort", () => this.#waiting.delete(number) && reject(signal.reason), { once: true });
      this.#send({ t: "ask", number, method, args: args.map(withoutSignal) });
    });
  }
}

function stored(stateDir: string): Pick<PluginControl, "logs" | "follow"> {
  return {
    logs: async (query: LogQuery): Promise<LogPage> => (await import("../log-store/log-query.ts")).readLogs(stateDir, query),
    async *follow(query: LogQuery, signal: AbortSignal): AsyncGenerator<LogItem> {
      const { followLogs } = await import("../log-store/follow.ts");
      yield* followLogs(stateDir, query, signal);
    },
  };
}

/** Of `act`: it stays here, as nothing but data goes over. */
function signalIn(args: readonly unknown[]): AbortSignal | undefined {
  return args.flatMap((each) => (typeof each === "object" && each !== null && "signal" in each ? [each.signal as AbortSignal] : []))[0];
}

function withoutSignal(argument: unknown): unknown {
  if (typeof argument !== "object" || argument === null || !("signal" in argument)) return argument;
  const { signal: _signal, ...rest } = argument;
  return rest;
}

function errorOf({ code, message }: AskedError): Error {
  return code !== undefined && code in ERRORS ? new ProcmanError(code as ErrorCode, message) : new Error(message);
}
