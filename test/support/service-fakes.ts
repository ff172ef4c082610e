/** The named services of `src/core/service`, for tests of the parts that use them. */
import type { Config, ProcessSpec } from "../../src/core/config/spec.ts";
import type { LoggerMessage } from "../../src/core/ipc/logger-protocol.ts";
import type { LogLine } from "../../src/core/service/log-line.ts";
import type { StartContext } from "../../src/core/service/operations/operation-context.ts";
import type { Log } from "../../src/core/service/services.ts";
import { SpecRegistry } from "../../src/core/service/spec-registry.ts";

/** Has the texts, with the process that they are about: `web: started`. */
export class FakeLog implements Log {
  readonly lines: string[] = [];
  /** Those about procman itself. */
  readonly own: string[] = [];

  write(id: string | undefined, { text }: LogLine): void {
    this.lines.push(id === undefined ? text : `${id}: ${text}`);
    if (id === undefined) this.own.push(text);
  }

  add({ id, severity, text }: Omit<LoggerMessage, "t">): void {
    this.write(id, { severity: severity === "debug" ? "info" : severity, text });
  }

  addNow(entry: Omit<LoggerMessage, "t">): void {
    this.add(entry);
  }

  audit(line: LogLine, id?: string): void {
    this.write(id, line);
  }

  info(text: string): void {
    this.write(undefined, { severity: "info", text });
  }

  warn(text: string): void {
    this.write(undefined, { severity: "warn", text });
  }

  error(text: string): void {
    this.write(undefined, { severity: "error", text });
  }

  command(): void {
    // Commands to the logger are no lines.
  }

  problemOf(): undefined {
    return undefined;
  }
}

/** The specifications of a configuration that has these members alone. */
export function specsOf(processes: readonly Partial<ProcessSpec>[], config: Partial<Config> = {}): SpecRegistry {
  return new SpecRegistry({ file: "", stateDir: "/nowhere", ...config, processes } as Config);
}

/** Every instance gets connections. */
export const EVEN = { accepts: () => true, connectionProblem: () => undefined, watch: () => () => undefined };

/** Processes that serve, and of which no end is known. */
export function servingContext(
  supervisor: StartContext["supervisor"],
  processes: readonly Partial<ProcessSpec>[],
): StartContext {
  const incidents = { lastEnd: () => undefined, recordRequester: () => undefined };
  return { supervisor, specs: specsOf(processes), balancing: EVEN, incidents };
}
