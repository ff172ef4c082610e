/** Signals to processes and process groups. */

/** Milliseconds until each signal. */
export type StopSteps = Readonly<Partial<Record<"SIGHUP" | "SIGTERM" | "SIGKILL", number>>>;

/** Sends a signal to a process, or with a negative pid to a process group. */
export function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // ESRCH: it has just exited. EPERM: the pid belongs to another user's process now; on macOS, only zombies are left
    // in the group.
    if (!["ESRCH", "EPERM"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}

/** SIGHUP ends shells, which ignore SIGTERM; SIGTERM follows, as to some programs SIGHUP means a reload. */
export function stepsTo(terminateMs: number): StopSteps {
  return { SIGHUP: 0, SIGTERM: 100, SIGKILL: terminateMs };
}

/** Sends the signals to a process group until `ended` resolves. The first one is sent before this returns. */
export async function stopGroup(group: number, steps: StopSteps, ended: Promise<unknown>): Promise<void> {
  const timers = Object.entries(steps).map(([signal, ms]) => {
    const send = (): void => signalIfThere(-group, signal as keyof StopSteps);
    if (ms === 0) return void send();
    return setTimeout(send, ms).unref();
  });
  await ended;
  for (const timer of timers) clearTimeout(timer);
}
