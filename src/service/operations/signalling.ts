/** Signals that are sent by hand. */
import { ProcmanError } from "../../base/errors.ts";
import type { AnySignal } from "../../base/signals.ts";
import type { Signalling } from "../../contract/control.ts";
import type { RunKey } from "../../ipc/keeper-protocol.ts";
import { signalOf } from "../../os/signal-name.ts";
import type { Process } from "../../supervisor/process.ts";

export type SignallingPorts = {
  readonly send: (run: RunKey, signal: AnySignal, to: "leader" | undefined) => void;
  /** Status text of a process. */
  readonly reason: (process: Process) => string;
};

/** Signals every run of these processes that has a pid. @throws {ProcmanError} `input-invalid`; `process-not-running` if none has one */
export function signalRuns(found: readonly Process[], id: string, { signal: written, to }: Signalling, ports: SignallingPorts): void {
  const signal = signalOf(written, "body.signal");
  const runs = found.flatMap((process) =>
    process.runs.filter(({ state }) => "pid" in state && !("ending" in state)).map(({ slot, run }) => ({ slot, run, process })),
  );
  const [first] = found;
  if (runs.length === 0 && first !== undefined) {
    const why = found.length === 1 ? `it ${ports.reason(first)}` : "none of its instances is running";
    throw new ProcmanError("process-not-running", `Cannot signal "${id}": ${id === "all" ? "no process is running" : why}`);
  }
  for (const { slot, run, process } of runs)
    ports.send({ slot, run }, signal, (to ?? process.definition.policy.killMode) === "leader" ? "leader" : undefined);
}
