/** What keys of a terminal send, by their names (`procman send --key`). */
import { ProcmanError } from "../core/base/errors.ts";
import { didYouMean } from "../core/base/suggest.ts";

const LETTERS = [..."abcdefghijklmnopqrstuvwxyz"];

const KEYS: ReadonlyMap<string, string> = new Map([
  ["enter", "\r"],
  ["tab", "\t"],
  ["escape", "\x1b"],
  ["space", " "],
  ["backspace", "\x7f"],
  ["delete", "\x1b[3~"],
  ["up", "\x1b[A"],
  ["down", "\x1b[B"],
  ["right", "\x1b[C"],
  ["left", "\x1b[D"],
  ["home", "\x1b[H"],
  ["end", "\x1b[F"],
  ["page-up", "\x1b[5~"],
  ["page-down", "\x1b[6~"],
  ...LETTERS.map((letter, index): [string, string] => [`ctrl-${letter}`, String.fromCharCode(index + 1)]),
]);

/** @throws {ProcmanError} `usage` @example keyText("Ctrl-C") // "\u0003" */
export function keyText(name: string): string {
  const text = KEYS.get(name.toLowerCase());
  if (text !== undefined) return text;
  const names = [...KEYS.keys()].filter((each) => !each.startsWith("ctrl-")).join(", ");
  const why = `there is no key ${JSON.stringify(name)}.${didYouMean(name, KEYS.keys())}`;
  throw new ProcmanError("usage", `Cannot send it: ${why} Keys: ${names}, ctrl-a to ctrl-z`);
}
