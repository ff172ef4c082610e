/** The shutdown: stops everything in reverse order of start, then tells the keeper to end. */
import type { Config } from "../../config/spec.ts";
import type { Subsystem } from "../subsystem.ts";
import type { ExitWith } from "./exit-with.ts";
import type { OperationContext } from "./operation-context.ts";

export type ShutdownEvents = {
  /** Called when the shutdown begins. */
  readonly onBegin: (why: string) => void;
  /** Called when all processes are stopped. */
  readonly onStopped: () => Promise<void>;
};

type ShutdownContext = Pick<OperationContext, "link" | "log" | "notes" | "operations" | "specs" | "supervisor">;

export class Shutdown implements Subsystem {
  readonly #context: ShutdownContext;
  readonly #events: ShutdownEvents;
  readonly #exitWith: ExitWith | undefined;

  constructor(context: ShutdownContext, events: ShutdownEvents, exitWith: ExitWith | undefined) {
    this.#context = context;
    this.#events = events;
    this.#exitWith = exitWith;
  }

  get isUnderWay(): boolean {
    return this.#context.operations.isUnderWay("shutdown");
  }

  /** Resumes the shutdown of an earlier service. */
  resume(): void {
    const { notes } = this.#context;
    const noted = notes.read(":terminating");
    if (noted === undefined) notes.remove(":terminating");
    else void this.begin(noted.why, noted.code);
  }

  /** `code`: the exit code; absent: that of `--exit-with` or `--once`, or 0. */
  async begin(why: string, code?: number): Promise<void> {
    const { link, operations, notes, log, specs } = this.#context;
    link.send({ t: "stopping" });
    if (this.isUnderWay) return;
    let finish = (): void => undefined;
    const done = new Promise<undefined>((resolve) => {
      finish = () => resolve(undefined);
    });
    operations.add({ kind: "shutdown", concerns: () => true, pending: [], done, cancel: () => undefined });
    notes.write(":terminating", { why, ...(code === undefined ? {} : { code }) });
    log.info(`stopping everything${howBegun(why, specs.config)}`);
    this.#events.onBegin(why);
    await this.#stopAll(code);
    finish();
  }

  /** Begins the shutdown if what `--exit-with` or `--once` waits for is over. */
  checkExitWith(): void {
    const exitWith = this.#exitWith;
    const { supervisor } = this.#context;
    const code = exitWith?.finalCode(supervisor.processes, (id) => supervisor.isSkipped(id));
    if (code !== undefined) void this.begin(exitWith?.reason ?? "", code);
  }

  async #stopAll(code: number | undefined): Promise<void> {
    const { supervisor, log, link } = this.#context;
    await supervisor.stopAll();
    await this.#events.onStopped();
    log.info("everything is stopped");
    link.sendLater({ t: "end", code: code ?? this.#exitWith?.currentCode(supervisor.processes) ?? 0 });
  }
}

/** The keys of `procman dev` are signals here. */
function howBegun(why: string, { console }: Config): string {
  if (!why.startsWith("SIG")) return ` (${why})`;
  if (console.reader === "terminal") return "; q or Ctrl-C again: at once";
  return ` (${why}); the next SIGINT or SIGTERM kills what still runs`;
}
