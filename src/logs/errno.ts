/** What the system said. */

/** `ENOSPC`, or "UNKNOWN" for what is no system error. */
export function errnoOf(error: unknown): string {
  if (error instanceof Error && "code" in error && typeof error.code === "string") return error.code;
  return "UNKNOWN";
}

/** `no space left on device` out of Node's `ENOSPC: no space left on device, write`. */
export function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return /^[A-Z0-9]+: ([^,]+)/.exec(message)?.[1] ?? message;
}
