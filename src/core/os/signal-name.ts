/** Signals as people write them: `HUP`, `SIGHUP`, `hup`, `1`. */
import { constants } from "node:os";
import { ProcmanError } from "../base/errors.ts";
import { type AnySignal, SIGNALS } from "../base/signals.ts";
import { didYouMean } from "../base/suggest.ts";

/** The exit code by which shells say that a signal has ended a program. */
export function signalCode(signal: string | null | undefined): number {
  const numbers: Readonly<Record<string, number>> = constants.signals;
  return 128 + (numbers[signal ?? ""] ?? 0);
}

/** undefined: there is no such signal. */
export function signalNamed(written: string | number): AnySignal | undefined {
  const text = String(written);
  const name = `SIG${text.toUpperCase().replace(/^SIG/, "")}`;
  return SIGNALS.find((each) => each === name || (/^\d+$/.test(text) && constants.signals[each] === Number(text)));
}

/** @throws {ProcmanError} `input-invalid`, with the place if it is in a request */
export function signalOf(written: string | number, place?: string): AnySignal {
  const signal = signalNamed(written);
  if (signal !== undefined) return signal;
  const shown = JSON.stringify(
    typeof written === "string" && written.length > 40 ? `${written.slice(0, 40)}…` : written,
  );
  const what = `there is no signal ${shown}; use a name such as HUP or SIGHUP, or a number such as 1.`;
  const names = SIGNALS.flatMap((name) => [name, name.slice("SIG".length)]);
  const message = `${what}${didYouMean(String(written), names)}`;
  throw new ProcmanError("input-invalid", `Cannot send a signal: ${message}`, {
    faults: place === undefined ? [] : [{ place, message }],
  });
}
