/** Lines of the journal, each with a checksum (CRC-32): a flipped digit is damage and not a pid, and one wrong byte is set right. */

/** `,"sum":"0123abcd"}` in place of the last `}`: an earlier procman reads the line, too. */
const TAIL_BYTES = 18;
const TAIL = /^,"sum":"([0-9a-f]{8})"\}$/;
const NEWLINE = 10;

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});
/** Which entry of the table has this first byte. */
const BY_FIRST = Uint8Array.from({ length: 256 }, (_, first) => TABLE.findIndex((value) => value >>> 24 === first));

export function withSum(json: string): string {
  return `${json.slice(0, -1)}${tailOf(crc32(Buffer.from(json)))}`;
}

/** The lines without their sums; those that are damaged by more than a byte are "". Lines without a sum are as they are. */
export function readLines(bytes: Buffer): readonly string[] {
  const lines: string[] = [];
  for (let start = 0; start <= bytes.length; ) {
    const end = endOf(bytes, start);
    // A newline may be the wrong byte.
    const joined =
      readLine(bytes.subarray(start, end)) === undefined
        ? readLine(bytes.subarray(start, endOf(bytes, end + 1)))
        : undefined;
    if (joined === undefined) lines.push(...readOrSplit(bytes.subarray(start, end)));
    else lines.push(joined);
    start = (joined === undefined ? end : endOf(bytes, end + 1)) + 1;
  }
  return lines;
}

function endOf(bytes: Buffer, start: number): number {
  const end = bytes.indexOf(NEWLINE, start);
  return end < 0 ? bytes.length : end;
}

/** Two lines, if the newline between them is the wrong byte. */
function readOrSplit(line: Buffer): readonly string[] {
  const cut = line.toString("latin1").search(/(?<=,"sum":"[0-9a-f]{8}"\})./s);
  if (cut < 0) return [readLine(line) ?? ""];
  return [line.subarray(0, cut), line.subarray(cut + 1)].map((half) => readLine(half) ?? "");
}

/** undefined: it is damaged. */
function readLine(line: Buffer): string | undefined {
  const whole = line.toString("utf8");
  if (line.length <= TAIL_BYTES) return isJson(whole) ? whole : undefined;
  const json = Buffer.concat([line.subarray(0, -TAIL_BYTES), Buffer.from("}")]);
  const tail = line.toString("latin1", line.length - TAIL_BYTES);
  const expected = tailOf(crc32(json));
  const wrong = [...expected].filter((character, index) => character !== tail[index]).length;
  // Perhaps it is the sum that is wrong.
  if (wrong <= 1) return json.toString("utf8");
  const [, sum] = TAIL.exec(tail) ?? [];
  if (sum === undefined) return isJson(whole) ? whole : undefined;
  return repaired(json, (crc32(json) ^ Number.parseInt(sum, 16)) >>> 0);
}

function isJson(text: string): boolean {
  try {
    return JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}

/** With the one byte set right that makes this difference of the sums. */
function repaired(json: Buffer, difference: number): string | undefined {
  let rest = difference;
  for (let at = json.length - 1; at >= 0; at -= 1) {
    const entry = BY_FIRST[rest >>> 24] as number;
    const value = TABLE[entry] as number;
    if (value === rest) {
      json[at] = (json[at] as number) ^ entry;
      const text = json.toString("utf8");
      return isJson(text) ? text : undefined;
    }
    rest = (((rest ^ value) << 8) | entry) >>> 0;
  }
  return undefined;
}

function tailOf(sum: number): string {
  return `,"sum":"${sum.toString(16).padStart(8, "0")}"}`;
}

function crc32(bytes: Buffer): number {
  let value = 0xffffffff;
  // An iterator of the buffer takes twice as long.
  for (let at = 0; at < bytes.length; at += 1)
    value = (TABLE[(value ^ (bytes[at] as number)) & 0xff] as number) ^ (value >>> 8);
  return (value ^ 0xffffffff) >>> 0;
}
