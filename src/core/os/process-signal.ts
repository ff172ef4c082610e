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
