/**
 * The terminals of runs for those who look: what is printed, byte for byte, and the size. What holds a terminal writes
 * into a FIFO while the service has it open; nothing is kept, and programs redraw their screens when the size changes.
 */
import { constants, openSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { errnoOf, ProcmanError, reasonOf } from "../../base/errors.ts";
import { type Caller, callerText } from "../../contract/control.ts";
import type { ScreenItem } from "../../contract/screen.ts";
import { resizeTerminal, type TerminalSize } from "../../os/pseudo-terminal.ts";
import type { Process } from "../../supervisor/process.ts";
import type { Services } from "../services.ts";

/** Kept for somebody who reads slowly; then the program is held up. Bytes. */
const KEPT = 262_144;
/** Somebody who reads nothing for so long doesn't hold the program up any more. Milliseconds. */
const SLOW_MS = 1_000;

/** The FIFO of the latest run of a slot. */
export function screenFile(stateDir: string, slot: string): string {
  return join(stateDir, "run", `screen-${slot}`);
}

type TerminalRun = { readonly slot: string; readonly run: number; readonly pid: number };

export class Screens {
  readonly #services: Pick<Services, "specs" | "supervisor" | "bus">;
  /** By slot and run. */
  readonly #open = new Map<string, Screen>();
  /** Callers who look, with the process. */
  readonly #watching: string[] = [];
  /** The run whose size was set last, and that size. */
  #sized = "";

  constructor(services: Pick<Services, "specs" | "supervisor" | "bus">) {
    this.#services = services;
  }

  /**
   * What the process prints from now on, also in later runs.
   *
   * @throws {ProcmanError} `input-refused`; `events-lost` if the reader is too slow
   */
  async *watch(id: string, caller: Caller, signal: AbortSignal): AsyncGenerator<ScreenItem> {
    const watcher = watcherOf(id, caller);
    this.#watching.push(watcher);
    let view: PassThrough | undefined;
    try {
      for (let run = await this.#next(id, signal); run !== undefined; run = await this.#next(id, signal, run)) {
        view = this.#view(run, signal);
        yield { type: "begun", run: run.run };
        for await (const chunk of view) yield { type: "output", data: (chunk as Buffer).toString("base64") };
        if (!signal.aborted) yield { type: "over", run: run.run };
      }
    } finally {
      view?.destroy();
      this.#watching.splice(this.#watching.indexOf(watcher), 1);
    }
  }

  isWatching(id: string, caller: Caller): boolean {
    return this.#watching.includes(watcherOf(id, caller));
  }

  /** @throws {ProcmanError} `input-refused`, `process-not-running` */
  async resize(process: Process, size: TerminalSize): Promise<void> {
    const { id } = process;
    this.#check(id, "size the terminal of");
    const run = runOf(process);
    if (run === undefined)
      throw new ProcmanError("process-not-running", `Cannot size the terminal of "${id}": it isn't running`);
    const sized = `${run.slot}.${run.run} ${size.rows} ${size.columns}`;
    if (sized === this.#sized) return;
    try {
      await resizeTerminal(run.pid, size);
    } catch (error) {
      throw new ProcmanError("input-refused", `Cannot size the terminal of "${id}": ${reasonOf(error)}`);
    }
    this.#sized = sized;
  }

  /** Its run with a process after `last`; undefined: nobody waits any more. */
  async #next(id: string, signal: AbortSignal, last?: TerminalRun): Promise<TerminalRun | undefined> {
    for (; !signal.aborted; await this.#changed(id, signal)) {
      this.#check(id, "show the terminal of");
      const run = runOf(this.#services.supervisor.find(id));
      if (run !== undefined && run.run !== last?.run) return run;
    }
    return undefined;
  }

  /** Resolves at the next transition or the removal of the process, or when nobody waits any more. */
  #changed(id: string, signal: AbortSignal): Promise<void> {
    const { transitions, removed } = this.#services.bus;
    return new Promise((resolve) => {
      const ears = [
        transitions.listen((reported) => reported.id === id && end()),
        removed.listen((gone) => gone === id && end()),
      ];
      const end = (): void => {
        for (const stop of ears) stop();
        signal.removeEventListener("abort", end);
        resolve();
      };
      signal.addEventListener("abort", end);
    });
  }

  #check(id: string, what: string): void {
    if (this.#services.specs.of(id).tty === true) return;
    const remedy = 'set "tty": true for it, and run "procman reload"';
    throw new ProcmanError("input-refused", `Cannot ${what} "${id}": it has none; ${remedy}`);
  }

  #view({ slot, run }: TerminalRun, signal: AbortSignal): PassThrough {
    const key = `${slot}.${run}`;
    const file = screenFile(this.#services.specs.config.stateDir, slot);
    const screen = this.#open.get(key) ?? new Screen(file, () => this.#open.delete(key));
    this.#open.set(key, screen);
    return screen.view(signal);
  }
}

/** Its latest run that has a process. */
function runOf({ runs }: Process): TerminalRun | undefined {
  for (const { slot, run, state } of runs.toReversed()) if ("pid" in state) return { slot, run, pid: state.pid };
  return undefined;
}

function watcherOf(id: string, caller: Caller): string {
  return `${id} ${callerText(caller)}`;
}

/** The terminal of a run, for one or more who look. */
class Screen {
  readonly #socket: Socket;
  readonly #views = new Set<PassThrough>();
  /** Views that are read too slowly just now. */
  readonly #slow = new Map<PassThrough, NodeJS.Timeout>();

  /** @throws {ProcmanError} `input-refused` */
  constructor(file: string, onClosed: () => void) {
    this.#socket = new Socket({ fd: openScreen(file), readable: true, writable: false })
      .on("data", (chunk) => this.#add(chunk))
      .on("error", () => this.#socket.destroy())
      .on("close", () => {
        onClosed();
        for (const view of this.#views) view.end();
      });
  }

  view(signal: AbortSignal): PassThrough {
    const view = new PassThrough({ highWaterMark: KEPT });
    this.#views.add(view);
    const end = (): void => void view.end();
    signal.addEventListener("abort", end, { once: true });
    view.once("close", () => {
      signal.removeEventListener("abort", end);
      this.#views.delete(view);
      this.#goOn(view);
      if (this.#views.size === 0) this.#socket.destroy();
    });
    if (signal.aborted || this.#socket.destroyed) view.end();
    return view;
  }

  #add(chunk: Buffer): void {
    for (const view of this.#views) if (!view.writableEnded && !view.write(chunk)) this.#wait(view);
  }

  #wait(view: PassThrough): void {
    if (this.#slow.has(view)) return;
    this.#socket.pause();
    const late = new ProcmanError("events-lost", "Cannot show more: the output came faster than it was read");
    this.#slow.set(
      view,
      setTimeout(() => view.destroy(late), SLOW_MS),
    );
    view.once("drain", () => this.#goOn(view));
  }

  #goOn(view: PassThrough): void {
    clearTimeout(this.#slow.get(view));
    if (this.#slow.delete(view) && this.#slow.size === 0) this.#socket.resume();
  }
}

function openScreen(file: string): number {
  try {
    return openSync(file, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch (error) {
    const why = errnoOf(error) === "ENOENT" ? "its run has none; restart it" : reasonOf(error);
    throw new ProcmanError("input-refused", `Cannot show the terminal: ${why}`);
  }
}
