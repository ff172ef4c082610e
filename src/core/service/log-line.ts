/** A line of the log that the service writes itself. */
export type LogLine = {
  readonly severity: "info" | "warn" | "error";
  readonly text: string;
  /** Written instead after this time (milliseconds), unless another line comes first or what it says is over. */
  readonly late?: { readonly ms: number; readonly text: string };
};

export function info(text: string): LogLine {
  return { severity: "info", text };
}

export function warn(text: string): LogLine {
  return { severity: "warn", text };
}

export function error(text: string): LogLine {
  return { severity: "error", text };
}
