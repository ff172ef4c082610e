// Numbered lines of known content: the printers print them, and the check expects them.
const TEXTS = [
  "plain words of a quiet day",
  "grüße aus köln, schöne straße",
  "日本語のログ行です",
  "🚀 lift-off 🔥",
  "tabs\tand  wide   gaps",
  '{"level":"info","msg":"json, \\"quoted\\""}',
  "\u001b[32mgreen\u001b[0m",
];
const PAYLOADS = Array.from(
  { length: 61 },
  (_, index) => `${`${TEXTS[index % TEXTS.length]} `.repeat(1 + ((index * 7) % 23))}#${index}.`,
);
/** Some lines are longer than a buffer of a few kB. */
const LONG_EVERY = 997;
const LONG = `${"long ".repeat(4_000)}#long.`;

/** The text of a line after its head; `number` counts from 1. */
function payloadOf(number) {
  return number % LONG_EVERY === 0 ? LONG : PAYLOADS[number % PAYLOADS.length];
}

/** `run`: unique name of a run of the process `id`. */
export function lineOf(id, run, number) {
  return `${id} ${run} ${number} ${payloadOf(number)}`;
}

// The check compares bytes as latin1 strings: one character for each byte, whatever was damaged.
const latin1 = (text) => Buffer.from(text).toString("latin1");
const RAW_PAYLOADS = PAYLOADS.map(latin1);
const RAW_LONG = latin1(LONG);

/** The bytes of a line as latin1, without its newline. */
export function rawLineOf(id, run, number) {
  return `${id} ${run} ${number} ${number % LONG_EVERY === 0 ? RAW_LONG : RAW_PAYLOADS[number % RAW_PAYLOADS.length]}`;
}

/** @returns {{ id: string, run: string, number: number } | undefined} undefined if it is not a whole line of a printer */
export function parseRaw(raw) {
  const first = raw.indexOf(" ");
  const second = raw.indexOf(" ", first + 1);
  const third = raw.indexOf(" ", second + 1);
  if (first < 1 || second < 0 || third < 0) return undefined;
  const [id, run, number] = [raw.slice(0, first), raw.slice(first + 1, second), Number(raw.slice(second + 1, third))];
  if (!Number.isSafeInteger(number) || number < 1) return undefined;
  return raw === rawLineOf(id, run, number) ? { id, run, number } : undefined;
}

/** Bytes in a log file of the lines `from` to `to`, both included, each with its newline. */
export function bytesOf(id, run, from, to) {
  let bytes = 0;
  for (let number = from; number <= to; number += 1) bytes += rawLineOf(id, run, number).length + 1;
  return bytes;
}
