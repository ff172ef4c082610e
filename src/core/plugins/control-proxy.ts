/** `Control` in the thread of a plugin: sends requests to the service, and reads the log store itself. */
import type { ErrorCode } from "../base/errors.ts";
import { ERRORS, ProcmanError } from "../base/errors.ts";
import { groupNamed, membersOfGroup, selectorsIn, unknownProcess } from "../contract/groups.ts";
import type { LogItem, LogPage, LogQuery, ProcessRecord } from "../contract/records.ts";
import { ASKED, type AskedError, type FromPlugin, type PluginQuestion, type ToPlugin } from "../ipc/plugin-protocol.ts";
import type { PluginControl } from "./plugin.ts";

/** Further requests without an answer are refused, so that memory stays bounded. */
const MAX_PENDING = 100;

type PendingCall = { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void };

export class ControlProxy {
  readonly #send: (message: FromPlugin) => void;
  readonly #pending = new Map<number, PendingCall>();
  #lastNumber = 0;

  constructor(send: (message: FromPlugin) => void) {
    this.#send = send;
  }

  /** The `control` of the plugin's context. */
  control(stateDir: string): PluginControl {
    const remote = Object.fromEntries(
      ASKED.map((method) => [method, (...args: unknown[]) => this.#call(method, args)]),
    );
    const processes = async (): Promise<readonly ProcessRecord[]> =>
      (await this.#call("processes", [])) as readonly ProcessRecord[];
    return { ...remote, ...storedLog(stateDir, processes) } as PluginControl;
  }

  answer({ number, value, error }: ToPlugin & { readonly t: "answer" }): void {
    const call = this.#pending.get(number);
    this.#pending.delete(number);
    if (error === undefined) call?.resolve(value);
    else call?.reject(errorOf(error));
  }

  async #call(method: PluginQuestion, args: readonly unknown[]): Promise<unknown> {
    if (this.#pending.size >= MAX_PENDING)
      throw new ProcmanError(
        "too-many-requests",
        `Cannot ask for ${method}: ${MAX_PENDING} requests are already pending; await their answers`,
      );
    const number = ++this.#lastNumber;
    const signal = signalIn(args);
    return new Promise((resolve, reject) => {
      this.#pending.set(number, { resolve, reject });
      signal?.addEventListener("abort", () => this.#pending.delete(number) && reject(signal.reason), { once: true });
      this.#send({ t: "ask", number, method, args: args.map(withoutSignal) });
    });
  }
}

function storedLog(
  stateDir: string,
  records: () => Promise<readonly ProcessRecord[]>,
): Pick<PluginControl, "logs" | "follow"> {
  return {
    logs: async (query: LogQuery): Promise<LogPage> => {
      const { readLogs } = await import("../log-store/log-pages.ts");
      return readLogs(stateDir, await withMembers(query, records));
    },
    async *follow(query: LogQuery, signal: AbortSignal): AsyncGenerator<LogItem> {
      const { followLogs } = await import("../log-store/follow.ts");
      yield* followLogs(stateDir, await withMembers(query, records), signal);
    },
  };
}

/** Members in place of groups. @throws {ProcmanError} `process-unknown` */
async function withMembers(
  { processes, ...query }: LogQuery,
  records: () => Promise<readonly ProcessRecord[]>,
): Promise<LogQuery> {
  if (processes === undefined || processes.every((id) => groupNamed(id) === undefined))
    return { ...query, ...(processes && { processes }) };
  const all = await records();
  const members = processes.flatMap((id) => {
    const group = groupNamed(id);
    if (group === undefined) return [id];
    const found = membersOfGroup(all, group).map((record) => record.id);
    if (found.length === 0) throw unknownProcess(id, [], selectorsIn(all));
    return found;
  });
  return { ...query, processes: members };
}

/** The signal of `act`, which can't be sent to the service. */
function signalIn(args: readonly unknown[]): AbortSignal | undefined {
  return args.flatMap((each) =>
    typeof each === "object" && each !== null && "signal" in each ? [each.signal as AbortSignal] : [],
  )[0];
}

function withoutSignal(argument: unknown): unknown {
  if (typeof argument !== "object" || argument === null || !("signal" in argument)) return argument;
  const { signal: _signal, ...rest } = argument;
  return rest;
}

function errorOf({ code, message, taken }: AskedError): Error {
  const isKnown = code !== undefined && code in ERRORS;
  return isKnown ? new ProcmanError(code as ErrorCode, message, { taken }) : new Error(message);
}
