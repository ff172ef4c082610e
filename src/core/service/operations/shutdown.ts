/** The shutdown: stops everything in reverse order of start, then tells the keeper to end. */
import type { Supervisor } from "../../supervisor/supervisor.ts";
import type { KeeperChannel } from "../keeper-channel.ts";
import type { NoteStore } from "../recovery/notes.ts";
import type { ServiceLog } from "../service-log.ts";
import type { Subsystem } from "../subsystem.ts";
import type { ExitWith } from "./exit-with.ts";
import type { Operations } from "./operations.ts";

export type ShutdownPorts = {
  readonly supervisor: Supervisor;
  readonly operations: Operations;
  readonly link: KeeperChannel;
  readonly notes: NoteStore;
  readonly log: ServiceLog;
  readonly exitWith?: ExitWith | undefined;
  /** Called when the shutdown begins. */
  readonly onBegin: (why: string) => void;
  /** Called when all processes are stopped. */
  readonly onStopped: () => Promise<void>;
};

export class Shutdown implements Subsystem {
  readonly #ports: ShutdownPorts;

  constructor(ports: ShutdownPorts) {
    this.#ports = ports;
  }

  get isUnderWay(): boolean {
    return this.#ports.operations.isUnderWay("shutdown");
  }

  /** Resumes the shutdown of an earlier service. */
  resume(): void {
    const { notes } = this.#ports;
    const noted = notes.read(":terminating");
    if (noted === undefined) notes.remove(":terminating");
    else void this.begin(noted.why, noted.code);
  }

  /** `code`: the exit code; absent: that of `--exit-with` or `--once`, or 0. */
  async begin(why: string, code?: number): Promise<void> {
    const { link, operations, notes, log, onBegin } = this.#ports;
    link.send({ t: "stopping" });
    if (this.isUnderWay) return;
    let finish = (): void => undefined;
    const done = new Promise<undefined>((resolve) => {
      finish = () => resolve(undefined);
    });
    operations.add({ kind: "shutdown", concerns: () => true, pending: [], done, cancel: () => undefined });
    notes.write(":terminating", { why, ...(code === undefined ? {} : { code }) });
    log.info(
      `stopping everything (${why})${why.startsWith("SIG") ? "; the next SIGINT or SIGTERM kills what still runs" : ""}`,
    );
    onBegin(why);
    await this.#stopAll(code);
    finish();
  }

  /** Begins the shutdown if what `--exit-with` or `--once` waits for is over. */
  checkExitWith(): void {
    const { exitWith, supervisor } = this.#ports;
    const code = exitWith?.finalCode(supervisor.processes, (id) => supervisor.isSkipped(id));
    if (code !== undefined) void this.begin(exitWith?.reason ?? "", code);
  }

  async #stopAll(code: number | undefined): Promise<void> {
    const { supervisor, exitWith, onStopped, log, link } = this.#ports;
    await supervisor.stopAll();
    await onStopped();
    log.info("everything is stopped");
    link.sendLater({ t: "end", code: code ?? exitWith?.currentCode(supervisor.processes) ?? 0 });
  }
}
