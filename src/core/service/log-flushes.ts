/** Empties log files and the stored log by the logger, which writes them. */
import { ProcmanError } from "../base/errors.ts";
import type { ProcessSpec } from "../config/spec.ts";
import type { FlushRecord } from "../contract/records.ts";
import type { FlushOutcome, FromLogger } from "../ipc/logger-protocol.ts";
import type { Log } from "./services.ts";

/** Without an answer for this long, the logger was killed or is of another version. Milliseconds. */
const ANSWER_MS = 10_000;

/** `all`: every process of the configuration. `store`: also the stored log, which is one for all. */
export type FlushRequest = {
  readonly processes: readonly string[];
  readonly all: readonly ProcessSpec[];
  readonly store: boolean;
};

export class LogFlushes {
  readonly #log: Pick<Log, "command">;
  readonly #answerMs: number;
  readonly #pending = new Map<number, (outcome: FlushOutcome) => void>();
  /** Begins with the time in microseconds: an answer to an earlier service answers nothing here. */
  #lastReceipt = Date.now() * 1_000;

  constructor(log: Pick<Log, "command">, answerMs = ANSWER_MS) {
    this.#log = log;
    this.#answerMs = answerMs;
  }

  /** @throws {ProcmanError} `flush-refused`, `log-unavailable` */
  async flush({ processes, all, store }: FlushRequest): Promise<FlushRecord> {
    const users = usersOf(all);
    const others = (file: string): readonly string[] => (users.get(file) ?? []).filter((id) => !processes.includes(id));
    const files = [...users].filter(([, ids]) => ids.some((id) => processes.includes(id))).map(([file]) => file);
    if (files.length === 0 && !store) throw nothingToFlush(processes);
    const own = files.filter((file) => others(file).length === 0);
    const shared = files.filter((file) => !own.includes(file));
    const { problems, ...emptied } = await this.#ask(own, store);
    const kept = shared.map((file) => ({ file, reason: `it has lines of ${others(file).join(", ")}, too` }));
    return { processes, ...emptied, kept: [...kept, ...problems] };
  }

  onFlushed({ t: _, receipt, ...outcome }: FromLogger & { readonly t: "flushed" }): void {
    this.#pending.get(receipt)?.(outcome);
  }

  #ask(files: readonly string[], store: boolean): Promise<FlushOutcome> {
    this.#lastReceipt += 1;
    const receipt = this.#lastReceipt;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(receipt);
        reject(
          new ProcmanError(
            "log-unavailable",
            "Cannot tell whether the logs were emptied: the logger doesn't answer; try it again",
          ),
        );
      }, this.#answerMs);
      this.#pending.set(receipt, (outcome) => {
        clearTimeout(timer);
        this.#pending.delete(receipt);
        resolve(outcome);
      });
      this.#log.command({ t: "flush", receipt, files, store });
    });
  }
}

/** By log file, the processes whose output goes there. */
function usersOf(specs: readonly ProcessSpec[]): ReadonlyMap<string, readonly string[]> {
  const users = new Map<string, string[]>();
  for (const { id, log } of specs)
    for (const file of new Set([log.stdout, log.stderr]))
      if (file !== undefined) users.set(file, [...(users.get(file) ?? []), id]);
  return users;
}

function nothingToFlush(ids: readonly string[]): ProcmanError {
  return new ProcmanError(
    "flush-refused",
    `Cannot flush ${ids.join(", ")} alone: no log file is configured, and the stored log is one for all processes; "procman flush" empties that`,
  );
}
