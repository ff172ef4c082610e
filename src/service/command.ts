/** Asks something of one process, or of several at once. */
import { ProcmanError } from "../base/errors.ts";
import type { Action } from "../contract/control.ts";
import type { Process } from "../supervisor/process.ts";

/** To all of them; of several, those that are so already, or are blocked, are left as they are. Returns those that follow it. */
export function command(processes: readonly Process[], id: string, action: Action): readonly Process[] {
  if (processes.length === 1 && processes[0]?.id === id) {
    processes[0][action]();
    return processes;
  }
  const refusals = new Map<Process, ProcmanError>();
  for (const process of processes) {
    try {
      process[action]();
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      if (error.code !== "process-running") refusals.set(process, error);
    }
  }
  const [refusal] = refusals.values();
  if (refusal !== undefined && refusals.size === processes.length) throw refusal;
  return processes.filter((process) => !refusals.has(process));
}
