/** A line of the log that the service writes itself. */
export type LogLine = { readonly severity: "info" | "warn" | "error"; readonly text: string };

export function info(text: string): LogLine {
  return { severity: "info", text };
}

export function warn(text: string): LogLine {
  return { severity: "warn", text };
}

export function error(text: string): LogLine {
  return { severity: "error", text };
}
