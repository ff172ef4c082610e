/** The service's own log lines: sent to the logger, which writes them to console and log store. */

import { isatty } from "node:tty";
import { compact } from "../base/compact.ts";
import { printable, printableLine } from "../base/printable.ts";
import type { Config, ProcessSpec } from "../config/spec.ts";
import type { ToKeeper } from "../ipc/keeper-protocol.ts";
import type { FromLogger, LoggerMessage, StyleMessage, ToLogger } from "../ipc/logger-protocol.ts";
import { asCalled } from "../os/called-as.ts";
import { wantsColors } from "../os/colors.ts";
import type { KeeperChannel } from "./keeper-channel.ts";
import { error, info, type LogLine, warn } from "./log-line.ts";
import { definitionOf, processOf, type SpecRegistry } from "./spec-registry.ts";

export class ServiceLog {
  readonly #link: Pick<KeeperChannel, "sendLater" | "sendInOrder">;
  readonly #specs: Pick<SpecRegistry, "instanceOf">;
  /** What the logger has reported of files that it can't write, by path. */
  readonly #problems = new Map<string, string>();

  /** `specs`: by the number of the instance the entries are found as those of its cluster. */
  constructor(link: Pick<KeeperChannel, "sendLater" | "sendInOrder">, specs: Pick<SpecRegistry, "instanceOf">) {
    this.#link = link;
    this.#specs = specs;
  }

  /** `id`: a process or one of its slots; undefined: procman itself. `run`: the number of the run that the line is about. */
  write(id: string | undefined, { severity, text }: LogLine, run?: number): void {
    const whose = compact({ id, run });
    this.add({ at: Date.now(), severity, text: printable(text), ...whose });
  }

  /** Any entry, for the console and the log store. */
  add(entry: Omit<LoggerMessage, "t">): void {
    this.#link.sendLater(this.#messageOf(entry));
  }

  /** The same, without a delay. */
  addNow(entry: Omit<LoggerMessage, "t">): void {
    this.#link.sendInOrder(this.#messageOf(entry));
  }

  /** Sends the logger a command, behind the lines before it. */
  command(message: Exclude<ToLogger, LoggerMessage>): void {
    this.#link.sendInOrder({ t: "logger", message });
  }

  /** Records a request: who asked for what, and its outcome. */
  audit({ severity, text }: LogLine, id?: string): void {
    this.add({
      at: Date.now(),
      severity,
      category: "api",
      text: printableLine(text),
      ...(id === undefined ? {} : { id }),
    });
  }

  info(text: string): void {
    this.write(undefined, info(text));
  }

  warn(text: string): void {
    this.write(undefined, warn(text));
  }

  error(text: string): void {
    this.write(undefined, error(text));
  }

  /** Reports problems of the logger. */
  relay(message: FromLogger): void {
    // Another logger: it reports a problem again.
    if (message.t === "ready") this.#problems.clear();
    if (message.t === "problem") {
      this.#problems.set(message.file, message.message);
      this.error(`${message.message}; processes keep running`);
    }
    if (message.t === "recovered") {
      this.#problems.delete(message.file);
      this.warn(`${message.file} can be written again; ${lost(message)}`);
    }
  }

  /** Why the log files of a process can't be written now; undefined: no problem is known. */
  problemOf({ log: { stdout = "", stderr = "" } }: Pick<ProcessSpec, "log">): string | undefined {
    return this.#problems.get(stdout) ?? this.#problems.get(stderr);
  }

  #messageOf({ id: slot, ...entry }: Omit<LoggerMessage, "t">): ToKeeper {
    const instance = slot === undefined ? undefined : this.#specs.instanceOf(slot);
    const whose = slot === undefined ? {} : { id: processOf(slot), ...(instance === undefined ? {} : { instance }) };
    return { t: "logger", message: { t: "say", ...entry, ...whose } };
  }
}

/** What a user at a terminal wants to know who sees no output of the processes; undefined: there is some, or no terminal. */
export function hiddenOutputNotice({ console, processes }: Config): string | undefined {
  const starting = processes.filter((spec) => definitionOf(spec).autostart);
  const isShown = console.file !== undefined || starting.some(({ log }) => log.console);
  if (isShown || starting.length === 0 || !isatty(1)) return undefined;
  return asCalled(
    'the output of the processes is not shown here: "procman run --console" shows it, "procman logs -f" in another terminal follows it',
  );
}

/** The style of the console, and the retention of the log store. Colors are for terminals (https://no-color.org, https://force-color.org). */
export function styleOf({
  console,
  internalLogHours: hours,
  internalLogBytes: bytes,
  levels,
  processes,
}: Config): StyleMessage {
  const colors = hasColors(console);
  const idWidth = Math.max(0, ...processes.map(({ id }) => id.length));
  return {
    t: "style",
    style: { ...console, colors },
    store: { hours, bytes, ...(levels !== undefined && { levels }) },
    idWidth,
    releases: true,
  };
}

/** Whether the console shows colors, for now. */
export function hasColors({ colors, reader }: Config["console"]): boolean {
  return (
    colors && (reader === "terminal" || wantsColors({ isTTY: isatty(1) || isatty(2) || !!process.env.FORCE_COLOR }))
  );
}

function lost({ lostLines, lostBytes }: FromLogger & { readonly t: "recovered" }): string {
  return lostLines === 0 ? "no line was lost" : `${lostLines} lines (${lostBytes} bytes) were lost`;
}
