/** What procman itself has to say: to the console, by way of the logger. */
import { isatty } from "node:tty";
import type { Config } from "../config/spec.ts";
import type { ConsoleStyle, FromLogger, Say, StoreSettings } from "../contract/logger-protocol.ts";
import type { Link } from "../runtime/link.ts";
import { error, info, type Line, warn } from "./narrator.ts";
import { processOf } from "./specs.ts";

export class Voice {
  readonly #link: Link;
  readonly #instanceOf: (slot: string) => number | undefined;

  /** `instanceOf`: its number in its cluster, from 1, by which its entries are found as those of the cluster. */
  constructor(link: Link, instanceOf: (slot: string) => number | undefined = () => undefined) {
    this.#link = link;
    this.#instanceOf = instanceOf;
  }

  /** Of a process or one of its slots, or of procman itself. */
  say(id: string | undefined, { severity, text }: Line): void {
    this.enter({ at: Date.now(), severity, text, ...(id === undefined ? {} : { id }) });
  }

  /** Any entry, for the console and the log store. */
  enter({ id: slot, ...entry }: Omit<Say, "t">): void {
    const instance = slot === undefined ? undefined : this.#instanceOf(slot);
    const whose = slot === undefined ? {} : { id: processOf(slot), ...(instance === undefined ? {} : { instance }) };
    this.#link.sendLater({ t: "logger", message: { t: "say", ...entry, ...whose } });
  }

  /** Who asked for what, and what came of it. */
  audit({ severity, text }: Line, id?: string): void {
    this.enter({ at: Date.now(), severity, category: "api", text, ...(id === undefined ? {} : { id }) });
  }

  info(text: string): void {
    this.say(undefined, info(text));
  }

  warn(text: string): void {
    this.say(undefined, warn(text));
  }

  error(text: string): void {
    this.say(undefined, error(text));
  }

  /** What the logger met. */
  repeat(message: FromLogger): void {
    if (message.t === "problem") this.error(`${message.message}; processes run on`);
    if (message.t === "recovered") this.warn(`${message.file} can be written again; ${lost(message)}`);
  }
}

/** Colours are for terminals (https://no-color.org, https://force-color.org). */
export function consoleStyle({ console }: Config): ConsoleStyle {
  return { ...console, colors: console.colors && (isatty(1) || !!process.env.FORCE_COLOR) && !process.env.NO_COLOR };
}

export function storeSettings({ internalLogHours, internalLogBytes }: Config): StoreSettings {
  return { hours: internalLogHours, bytes: internalLogBytes };
}

function lost({ lostLines, lostBytes }: FromLogger & { readonly t: "recovered" }): string {
  return lostLines === 0 ? "no line was lost" : `${lostLines} lines (${lostBytes} bytes) were lost`;
}
