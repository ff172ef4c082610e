/** A session of `procman dev`: lines, keys and states, until procman has ended, or the user leaves one that ran already. */
import type { ReadStream } from "node:tty";
import { JobSuspension } from "../../cli/output/job-suspension.ts";
import { LineEditor } from "../../cli/output/line-editor.ts";
import { connectTo } from "../../client/connection/connect.ts";
import { keeperOf, livingHolder } from "../../client/connection/endpoint-file.ts";
import { LogReader } from "../../client/connection/log-reader.ts";
import { type InputControl, InputQueue } from "../../client/input-queue.ts";
import { EXIT, ProcmanError } from "../../core/base/errors.ts";
import type { Location } from "../../core/config/find-config.ts";
import { CATEGORIES, type LogEntry, type ProcessRecord } from "../../core/contract/records.ts";
import { wasNeverStarted } from "../../core/contract/status-sets.ts";
import { wantsColors } from "../../core/os/colors.ts";
import { signalIfThere } from "../../core/os/process-signal.ts";
import type { KeyPress } from "../monitor/key-parser.ts";
import { readKeys, takeKeys } from "../monitor/terminal-keys.ts";
import { type DevAct, type DevQuestion, KEYS, type NameableIds, pressed, questionText } from "./dev-keys.ts";
import type { DevKeeper } from "./keeper-process.ts";
import { LineView, ownerOf } from "./line-view.ts";
import { followStates, idsOf, type NamedProcesses, statesText } from "./process-states.ts";
import { watchSources } from "./source-watch.ts";

/** Text that is pasted is marked as such: its letters are no keys. */
const PASTE_ON = "\u001b[?2004h";
const PASTE_OFF = "\u001b[?2004l";
/** Lines that were there before, of a procman that runs already. */
const EARLIER_LINES = 20;
/** Requests are left out: the keys make some. */
const SHOWN: readonly LogEntry["category"][] = CATEGORIES.filter((category) => category !== "api");
const HINTS = "r restart  i input  l lines  e errors  c clear  m monitor  q end  ? keys";

export type DevSessionOptions = {
  readonly place: Location;
  /** What runs, and why: the first line. */
  readonly title: string;
  /** What else is to be said of it. */
  readonly remarks: readonly string[];
  /** The first line if another procman runs already; undefined: with `--exit-with`, its lines are not shown. */
  readonly titleBeside: string | undefined;
  /** The processes whose lines are shown of a procman that runs already. */
  readonly named: NamedProcesses;
  /** For the width in front of the lines. */
  readonly ids: readonly string[];
  /** undefined: procman runs already, and its lines are shown. */
  readonly keeper: DevKeeper | undefined;
  /** The files that the configuration was made of; when one changes, `renew` makes it again. */
  readonly sources?: { readonly files: readonly string[]; readonly renew: () => Promise<readonly string[]> };
  /** Runs the monitor on this terminal, until the user leaves it. */
  readonly monitor: () => Promise<void>;
};

/** Returns the exit code. */
export async function runSession(options: DevSessionOptions): Promise<number> {
  const session = new DevSession(options);
  return session.run();
}

class DevSession {
  readonly #options: DevSessionOptions;
  readonly #view: LineView;
  /** undefined: there is no terminal, or no keys. */
  readonly #keys: ReadStream | undefined;
  readonly #stop = new AbortController();
  #states: readonly ProcessRecord[] = [];
  #question: DevQuestion | undefined;
  /** Types into a process. */
  #editor: LineEditor | undefined;
  #isEnding = false;
  #keeper: DevKeeper | undefined;
  readonly #job = new JobSuspension(
    () => {
      this.#view.leave();
      this.#leaveTerminal();
    },
    () => this.#enterTerminal(),
  );

  constructor(options: DevSessionOptions) {
    const { stdin, stdout, env } = process;
    this.#options = options;
    this.#keeper = options.keeper;
    this.#keys = stdin.isTTY && stdout.isTTY && env.TERM !== "dumb" ? stdin : undefined;
    this.#view = new LineView({
      output: stdout,
      colors: wantsColors(stdout),
      hasFooter: this.#keys !== undefined,
      onFull: () => {
        if (stdout.listenerCount("drain") > 0) return;
        this.#keeper?.pause();
        stdout.once("drain", () => this.#keeper?.resume());
      },
    });
    this.#view.reserve(options.ids);
  }

  async run(): Promise<number> {
    const { keeper, title, remarks, sources, place } = this.#options;
    this.#view.note(title);
    for (const remark of remarks) this.#view.note(remark, "warn");
    this.#view.flush();
    keeper?.read((entry) => SHOWN.includes(entry.category) && this.#view.add(entry));
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => this.#end());
    this.#takeTerminal();
    const unwatch = sources === undefined ? undefined : this.#watch(sources);
    if (this.#keys !== undefined) void followStates(place, this.#stop.signal, (records) => this.#onStates(records));
    try {
      return await (keeper === undefined ? this.#follow() : this.#untilEnd(keeper));
    } finally {
      unwatch?.();
      this.#stop.abort();
      this.#leaveEditor();
      this.#view.end();
      this.#leaveTerminal();
    }
  }

  async #untilEnd(keeper: DevKeeper): Promise<number> {
    const { place, titleBeside } = this.#options;
    const code = await keeper.ended;
    const holder = code === EXIT.refused && !this.#isEnding ? livingHolder(place.stateDir) : undefined;
    if (holder !== undefined && holder.pid !== keeper.pid && titleBeside !== undefined) {
      // Another one was started at the same time.
      this.#keeper = undefined;
      this.#view.note(titleBeside);
      return this.#follow();
    }
    if (code !== undefined) return code;
    if (this.#isEnding) return EXIT.done;
    this.#view.note("procman was killed, came back, and has ended since: how is unknown here", "error");
    return EXIT.refused;
  }

  /** The lines of a procman that another one has started. */
  async #follow(): Promise<number> {
    const { place, named } = this.#options;
    this.#view.show(await idsOf(place, named));
    const query = { limit: EARLIER_LINES, categories: SHOWN };
    for await (const item of new LogReader(place, "dev").follow(query, this.#stop.signal))
      if (item.type === "entry") this.#view.add(item.entry);
      else this.#view.note(`${item.bytes} bytes are missing here`, "warn");
    this.#view.note(this.#stop.signal.aborted ? `left; ${place.name} goes on` : `${place.name} has ended`);
    return EXIT.done;
  }

  /** In order; asked twice, at once. */
  #end(): void {
    if (this.#keeper === undefined) return this.#stop.abort();
    this.#isEnding = true;
    void this.#signal(this.#keeper);
  }

  async #signal({ pid, hasExited }: DevKeeper): Promise<void> {
    const { stateDir } = this.#options.place;
    try {
      const holder = livingHolder(stateDir) ?? (hasExited() ? await keeperOf(stateDir) : { pid });
      if (holder.pid !== undefined) signalIfThere(holder.pid, "SIGINT");
    } catch (error) {
      // It has ended meanwhile.
      if (!(error instanceof ProcmanError)) throw error;
    }
  }

  #watch({ files, renew }: NonNullable<DevSessionOptions["sources"]>): () => void {
    let watched = files;
    return watchSources(
      () => watched,
      () =>
        void renew().then(
          (next) => {
            watched = next;
          },
          (error: unknown) => {
            if (!(error instanceof ProcmanError)) throw error;
            for (const line of `${error.message}\nThe processes run as before.`.split("\n"))
              this.#view.note(line, "error");
          },
        ),
    );
  }

  #onStates(records: readonly ProcessRecord[]): void {
    this.#states = records;
    this.#draw();
  }

  get #ids(): NameableIds {
    return { owners: [...new Set(this.#states.map(ownerOf))], instances: this.#states.map(({ id }) => id) };
  }

  #draw(): void {
    const parts = [statesText(this.#states), this.#view.filterText, HINTS].filter(Boolean);
    this.#view.footer(this.#question === undefined ? parts.join(" · ") : questionText(this.#question, this.#ids));
  }

  #takeTerminal(): void {
    if (this.#keys === undefined) return;
    process.once("exit", () => this.#leaveTerminal());
    this.#job.listen();
    process.stdout.on("resize", () => this.#draw());
    // The terminal was closed.
    this.#keys.once("error", () => this.#end()).once("end", () => this.#end());
    readKeys(this.#keys, (keys) => {
      for (const key of keys) if (this.#editor === undefined) this.#onKey(key);
    });
    this.#enterTerminal();
  }

  #enterTerminal(): void {
    if (this.#keys === undefined) return;
    takeKeys(this.#keys);
    process.stdout.write(PASTE_ON);
    this.#view.enter();
    this.#draw();
  }

  #leaveTerminal(): void {
    if (this.#keys === undefined || this.#keys.destroyed) return;
    this.#keys.setRawMode(false);
    this.#keys.pause();
    process.stdout.write(PASTE_OFF);
  }

  #onKey(key: KeyPress): void {
    const { question, act } = pressed(this.#question, key, this.#ids);
    this.#question = question;
    if (act !== undefined) this.#carryOut(act);
    this.#draw();
  }

  #carryOut(act: DevAct): void {
    switch (act.type) {
      case "restart":
        return void this.#tried(this.#restarted(act.ids));
      case "input":
        return this.#keys && this.#typeInto(act.id, this.#keys);
      case "filter":
        return this.#view.filter(act.ids);
      case "errors":
        return this.#view.toggleErrors();
      case "clear":
        return this.#view.clear();
      case "monitor":
        return void this.#monitor();
      case "keys":
        return this.#view.note(KEYS);
      case "refused":
        return this.#view.note(act.text, "warn");
      case "mark":
        return this.#view.mark();
      case "end":
        return this.#end();
      case "suspend":
        return this.#job.suspend();
      case "redraw":
        return this.#view.redraw();
      default:
        return act satisfies never;
    }
  }

  /** What procman refuses is a line. Resolves with whether it was done. */
  async #tried(work: Promise<unknown>): Promise<boolean> {
    try {
      await work;
      return true;
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      this.#view.note(error.message, "error");
      return false;
    }
  }

  /** No ids: all that were started. */
  async #restarted(ids: readonly string[]): Promise<void> {
    const control = await connectTo(this.#options.place, "dev");
    const started = this.#states.filter((record) => !wasNeverStarted(record)).map(ownerOf);
    await Promise.all([...new Set(ids.length === 0 ? started : ids)].map((id) => control.act(id, "restart")));
  }

  /** Lines for one process, until Escape or Ctrl-C. */
  #typeInto(id: string, keys: ReadStream): void {
    const client = connectTo(this.#options.place, "dev");
    const input: InputControl["input"] = async (...order) => (await client).input(...order);
    const queue = new InputQueue({ input }, id, (isFull) =>
      this.#view.note(
        isFull ? `${id} doesn't read its input; what you type waits until it does` : `${id} reads its input again`,
        isFull ? "warn" : "info",
      ),
    );
    const leave = (): void => {
      this.#leaveEditor();
      void queue.drop().then((bytes) => bytes > 0 && this.#view.note(`${bytes} bytes were not sent`, "warn"));
    };
    this.#job.unlisten();
    this.#view.edit(() => {
      this.#editor = new LineEditor({
        input: keys,
        output: process.stdout,
        prompt: `${id}> `,
        onLine: (line) => void this.#tried(queue.send(`${line}\n`)),
        onKey: (_line, { name }) => name === "escape" && leave(),
        onLeave: leave,
      });
      return this.#editor;
    });
    this.#view.note(`what you type goes to ${id}, until Esc`);
    // One that takes no input refuses this already.
    void this.#tried(input(id, { text: "" })).then((isTaken) => isTaken || this.#leaveEditor());
  }

  #leaveEditor(): void {
    const editor = this.#editor;
    this.#editor = undefined;
    if (editor === undefined) return;
    editor.close();
    this.#view.edit(undefined);
    this.#job.listen();
    this.#enterTerminal();
  }

  async #monitor(): Promise<void> {
    this.#view.leave();
    this.#leaveTerminal();
    this.#job.unlisten();
    await this.#options.monitor();
    this.#job.listen();
    this.#enterTerminal();
  }
}
