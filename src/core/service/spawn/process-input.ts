/** Writes to the standard input of a run: a FIFO of which the run itself holds both ends, so that what was taken outlives all parts of procman. */
import { closeSync, constants, fstatSync, openSync, readlinkSync, writeSync } from "node:fs";
import { basename, join } from "node:path";
import { errnoOf, ProcmanError, reasonOf } from "../../base/errors.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { ProcessInput } from "../../contract/control.ts";
import { terminalHolder } from "../../os/pseudo-terminal.ts";
import { isShortage } from "../../os/shortage.ts";
import type { Process } from "../../supervisor/process.ts";
import type { RecordCache } from "../reporting/record-cache.ts";
import type { Services } from "../services.ts";

/** `PIPE_BUF` of Linux: so many bytes are taken in one piece, or not at all. */
const PIECE = 4_096;
const LINE_END = 10;
const ENTER = "\r";
/** Never waits for a reader. */
const WRITING = constants.O_WRONLY | constants.O_NONBLOCK;
const CLOSED = "its program has closed its standard input, or has just ended";

/** The FIFO of the latest run of this slot. */
export function inputFile(stateDir: string, slot: string): string {
  return join(stateDir, "run", `stdin-${slot}`);
}

/** Whether something can be typed into its runs. */
export function takesInput({ stdin, tty }: Pick<ProcessSpec, "stdin" | "tty">): boolean {
  return stdin === true || tty === true;
}

/**
 * Never waits. A text is typed: on a terminal its line ends are the key Enter, as programs that read keys expect it;
 * others get them as line ends, as the terminal has it. Returns the number of bytes, which is that of all.
 *
 * @throws {ProcmanError} `input-refused`; `process-not-running`; `input-full` if the pipe has no room for all of them
 */
export function typeInto(
  process: Process,
  typed: Uint8Array | string,
  { specs, records }: Pick<Services, "specs"> & { readonly records: Pick<RecordCache, "of"> },
): number {
  const { id } = process;
  const what = `Cannot send to "${id}"`;
  const spec = specs.of(id);
  const bytes =
    typeof typed === "string" ? Buffer.from(spec.tty === true ? typed.replaceAll("\n", ENTER) : typed) : typed;
  const refusal = whyNoInput(spec);
  if (refusal !== undefined) throw new ProcmanError("input-refused", `${what}: ${refusal}`);
  const run = process.runs.flatMap(({ slot, state }) => ("pid" in state ? [{ slot, pid: state.pid }] : [])).at(-1);
  if (run === undefined) {
    const remedy = process.isIdle && !process.isBlocked ? `; "procman start ${id}" starts it` : "";
    throw new ProcmanError("process-not-running", `${what}: it ${records.of(process).reason}${remedy}`);
  }
  const fd = openInput(inputFile(specs.config.stateDir, run.slot), run.pid, what);
  try {
    const taken = write(fd, bytes);
    if (taken === undefined) throw new ProcmanError("input-refused", `${what}: ${CLOSED}`);
    if (taken === bytes.length) return taken;
    const full = `its program doesn't read, and the pipe to it is full: ${taken} of ${bytes.length} bytes were taken`;
    throw new ProcmanError("input-full", `${what}: ${full}`, { taken });
  } finally {
    closeSync(fd);
  }
}

/** undefined: it takes input. */
function whyNoInput(spec: Pick<ProcessSpec, "stdin" | "tty">): string | undefined {
  if (takesInput(spec)) return undefined;
  const { stdin } = spec;
  const has = typeof stdin === "object" ? `its input is the file ${stdin.file}` : "it takes no input";
  return `${has}; set "stdin": true for it, and run "procman reload"`;
}

/** By its file; if that was removed, by the run or what holds its terminal, which has the FIFO. @throws {ProcmanError} `input-refused` */
function openInput(file: string, pid: number, what: string): number {
  let fd = openFifo(file, file);
  if (typeof fd === "number") return fd;
  const held = `/proc/${terminalHolder(pid) ?? pid}/fd/0`;
  if (leadsToFifo(held, file)) fd = openFifo(held, file);
  if (typeof fd === "number") return fd;
  throw new ProcmanError("input-refused", `${what}: ${fd}`);
}

/** Or why it can't be opened. */
function openFifo(path: string, file: string): number | string {
  try {
    const fd = openSync(path, path === file ? WRITING | constants.O_NOFOLLOW : WRITING);
    if (fstatSync(fd).isFIFO()) return fd;
    closeSync(fd);
    return `${file} is no longer its FIFO; restart it`;
  } catch (error) {
    if (isShortage(error)) throw error;
    // Nobody has the other end.
    if (errnoOf(error) === "ENXIO") return CLOSED;
    if (errnoOf(error) !== "ENOENT") return reasonOf(error);
    return `its FIFO ${file} was removed, or its program has just ended; restart it`;
  }
}

/** Linux only. The folder isn't compared: a link that leads to it may have been switched. */
function leadsToFifo(held: string, file: string): boolean {
  try {
    return readlinkSync(held)
      .replace(/ \(deleted\)$/, "")
      .endsWith(`/run/${basename(file)}`);
  } catch {
    // It has ended.
    return false;
  }
}

/** How many bytes were taken; undefined: nobody reads any more. */
function write(fd: number, bytes: Uint8Array): number | undefined {
  let taken = 0;
  try {
    while (taken < bytes.length) taken += writeSync(fd, pieceOf(bytes.subarray(taken)));
  } catch (error) {
    if (errnoOf(error) === "EPIPE") return undefined;
    if (errnoOf(error) !== "EAGAIN") throw error;
  }
  return taken;
}

/** Whole lines, if they are not too long: another sender's bytes can't come between, and a full pipe cuts none of them. */
function pieceOf(rest: Uint8Array): Uint8Array {
  if (rest.length <= PIECE) return rest;
  const lines = rest.lastIndexOf(LINE_END, PIECE - 1) + 1;
  return rest.subarray(0, lines === 0 ? PIECE : lines);
}

/** @throws {ProcmanError} `input-invalid` */
export function typedIn({ text, data }: ProcessInput): Buffer | string {
  if (text !== undefined && data === undefined) return text;
  if (data !== undefined && text === undefined) return Buffer.from(data, "base64");
  throw new ProcmanError("input-invalid", 'Cannot send: the input is either "text" or "data"', {
    faults: [{ place: "body", message: 'must have either "text" or "data"' }],
  });
}
