/** A model of a machine and its keeper (`src/core/keeper`), small enough for all its states to be visited: children, journal, channel. */
import type {
  EndReport,
  FromKeeper,
  RestartOrder,
  RunKey,
  RunningRun,
  Signal,
  ToKeeper,
} from "../../src/core/ipc/keeper-protocol.ts";

export type Command = "start" | "stop" | "restart" | "block" | "unblock" | "sleep" | "wake";

/** A command of an operator, and the run at that time. */
export type IssuedCommand = { readonly command: Command; readonly id: string; readonly run: number };

/** An array of the channel, with the command that was accepted in the same turn. */
export type Sent = { readonly messages: readonly ToKeeper[]; readonly issued: IssuedCommand | undefined };

export type Child = {
  readonly slot: string;
  readonly run: number;
  readonly pid: number;
  /** The strongest signal that it got. */
  signal: "" | Signal;
};

/** The content of the journal, on disk and in the keeper's memory. */
type JournalContent = {
  readonly requested: Set<string>;
  readonly running: Map<string, RunningRun>;
  readonly ended: Map<string, EndReport>;
  readonly notes: Map<string, string>;
};

/** The process group that a run left behind whose start was not seen. */
const GROUP = 50;

const emptyJournal = (): JournalContent => ({
  requested: new Set(),
  running: new Map(),
  ended: new Map(),
  notes: new Map(),
});
const copyOf = ({ requested, running, ended, notes }: JournalContent): JournalContent => ({
  requested: new Set(requested),
  running: new Map(running),
  ended: new Map(ended),
  notes: new Map(notes),
});

/** `web:2` is a further slot of `web`. */
export const processOf = (slot: string): string => slot.split(":", 1)[0] as string;

export const keyOf = ({ slot, run }: RunKey): string => `${slot}#${run}`;

export class Machine {
  /** Monotonic milliseconds. */
  now = 1_000;
  readonly children: Child[] = [];
  /** Hooks that run, by slot: the numbers of their runs. They outlive the service that has begun them. */
  readonly hooks = new Map<string, number>();
  /** Runs whose hook beforeStart has succeeded, and those whose hook afterStop is over. */
  readonly hooksOver = { beforeStart: new Set<string>(), afterStop: new Set<string>() };
  /** A hook that was begun beside another one of the same slot. */
  doubledHook: string | undefined;
  /** Runs whose leader ended and left processes behind. */
  readonly leftBehind = new Set<string>();
  /** Ended children that their parent, the keeper, has not waited for yet. */
  readonly zombies: {
    readonly key: string;
    readonly child: Child;
    readonly code: number | null;
    readonly signal: string | null;
  }[] = [];
  /** What the OS knows of every end; only the check reads it. */
  readonly deaths = new Map<string, { readonly code: number | null; readonly isOrphan: boolean }>();
  /** Number of the last run that was forked, by process. */
  readonly lastRuns = new Map<string, number>();
  /** A run whose number is not higher than those of all earlier runs of its process. */
  misnumbered: string | undefined;
  readonly toKeeper: Sent[] = [];
  /** The operator's last command that has reached the keeper. */
  issued: IssuedCommand | undefined;
  readonly toService: (readonly FromKeeper[])[] = [];
  #pid = 100;
  #disk = emptyJournal();
  #journal = emptyJournal();
  #queue: (ToKeeper & { readonly t: "spawn" })[] = [];
  /** By slot. */
  readonly #prepared = new Map<string, RestartOrder>();
  /** Adopted runs: the keeper isn't their parent and gets no exit code. */
  #adopted = new Set<string>();
  /** The keeper's service has sent `open`. */
  isOpen = false;

  get queued(): number {
    return this.#queue.length;
  }

  /** The keeper takes the next array: it writes the journal, then acts. `dies`: the keeper dies between the two. */
  keeperTakes(dies = false): void {
    const { messages, issued } = this.toKeeper.shift() ?? { messages: [], issued: undefined };
    this.issued = issued ?? this.issued;
    for (const message of messages) this.#note(message);
    this.#flush();
    if (dies) return;
    for (const message of messages) this.#act(message);
  }

  #note(message: ToKeeper): void {
    if (message.t === "note") this.#journal.notes.set(message.id, message.note);
    else if (message.t === "ack") this.#journal.ended.delete(keyOf(message));
  }

  #act(message: ToKeeper): void {
    if (message.t === "open") this.#open();
    else if (message.t === "signal") this.#signal(message, message.signal);
    else if (message.t === "spawn") this.#spawn(message);
    else if (message.t === "prepare") this.#prepare(message);
    else if (message.t === "unprepare" && this.#prepared.get(message.slot)?.run === message.run)
      this.#prepared.delete(message.slot);
  }

  #prepare(request: RestartOrder): void {
    if (this.#journal.running.has(keyOf({ ...request, run: request.run - 1 })))
      this.#prepared.set(request.slot, request);
  }

  #open(): void {
    const { running, ended, notes } = this.#journal;
    this.isOpen = true;
    this.#prepared.clear();
    const alive = [...running.values()].map((record) => ({ ...record, captured: true }));
    this.toService.push([
      {
        t: "snapshot",
        running: alive,
        ended: [...ended.values()],
        notes: Object.fromEntries(notes),
        lineage: "",
        keepsApi: true,
        markerKey: "",
      },
    ]);
  }

  #signal(key: RunKey, signal: Signal): void {
    const child = this.children.find((each) => keyOf(each) === keyOf(key));
    if (child !== undefined && child.signal !== "SIGKILL") child.signal = signal;
  }

  #spawn(request: ToKeeper & { readonly t: "spawn" }): void {
    const known = this.#journal.running.get(keyOf(request));
    if (known !== undefined) this.#tell({ t: "spawned", ...known });
    else if (!this.#journal.ended.has(keyOf(request)) && !this.#queue.some((each) => keyOf(each) === keyOf(request)))
      this.#queue.push(request);
  }

  /** The keeper starts the next run. `dies`: the keeper dies right before or right after the fork, without another line written. */
  fork(works: boolean, dies?: "before" | "after"): void {
    const request = this.#queue.shift();
    if (request === undefined) return;
    const { slot, run } = request;
    const key = keyOf(request);
    this.#journal.requested.add(key);
    this.#flush();
    if (dies === "before") return;
    if (!works) return this.#over({ t: "failed", slot, run, errno: "EAGAIN", step: "fork", message: "", at: this.now });
    const child: Child = { slot, run, pid: ++this.#pid, signal: "" };
    this.children.push(child);
    const last = this.lastRuns.get(processOf(slot)) ?? 0;
    if (run <= last) this.misnumbered ??= `${key} was started after run ${last} of the process`;
    this.lastRuns.set(processOf(slot), run);
    if (dies === "after") return;
    const running: RunningRun = { slot, run, pid: child.pid, startTime: String(child.pid), since: this.now };
    this.#journal.requested.delete(key);
    this.#journal.running.set(key, running);
    this.#flush();
    this.#tell({ t: "spawned", ...running });
  }

  /** A child ends. */
  die(child: Child, how: { readonly code: number | null; readonly survivors: boolean }): void {
    const key = keyOf(child);
    this.children.splice(this.children.indexOf(child), 1);
    if (how.survivors) this.leftBehind.add(key);
    this.deaths.set(key, { code: how.code, isOrphan: this.#adopted.has(key) });
    this.zombies.push({ key, child, code: how.code, signal: how.code === null ? child.signal : null });
  }

  /** The keeper handles the first end that it has not handled yet. */
  keeperLooks(): void {
    const zombie = this.zombies.shift();
    if (zombie === undefined) return;
    const { key, child, code, signal } = zombie;
    const unknown = this.#adopted.has(key);
    const { slot, run, pid } = child;
    const survivors = this.leftBehind.has(key);
    const next = this.#prepared.get(slot);
    this.#prepared.delete(slot);
    const follows = next?.run === run + 1 && !survivors && (next.after === "any-end" || unknown || code !== 0);
    this.#over({
      t: "exited",
      slot,
      run,
      pid,
      code: unknown ? null : code,
      signal: unknown ? null : signal,
      unknown,
      survivors,
      ...(follows && { followed: true as const }),
      at: this.now,
    });
    if (follows) this.#queue.push({ t: "spawn", ...next });
  }

  /** `isRepeated`: what an earlier service has left of it is ended first. */
  hookBegins({ slot, run, isRepeated }: RunKey & { readonly isRepeated: boolean }): void {
    if (this.hooks.has(slot) && !isRepeated) this.doubledHook ??= keyOf({ slot, run });
    this.hooks.set(slot, run);
  }

  /** The service dies; the next one has a new channel and will send `open`. */
  serviceDies(): void {
    this.toKeeper.length = 0;
    this.toService.length = 0;
    this.isOpen = false;
  }

  /** The keeper's memory is lost; the next keeper reads the disk, and looks for the runs that were about to start. */
  keeperDies(): void {
    this.serviceDies();
    this.#queue = [];
    this.#prepared.clear();
    this.#journal = copyOf(this.#disk);
    for (const key of [...this.#journal.requested]) {
      const child = this.children.find((each) => keyOf(each) === key);
      this.#journal.requested.delete(key);
      if (child !== undefined)
        this.#journal.running.set(key, { ...child, startTime: String(child.pid), since: this.now });
      else this.#journal.ended.set(key, this.#unseen(key));
    }
    this.#adopted = new Set(this.#journal.running.keys());
    // A run that ended meanwhile has left no exit code.
    for (const zombie of this.zombies.splice(0)) {
      if (!this.#journal.running.has(zombie.key)) continue;
      this.deaths.set(zombie.key, { code: zombie.code, isOrphan: true });
      this.zombies.push(zombie);
    }
    this.#flush();
  }

  /** The end of a run that was about to start and isn't there: most likely it has run. */
  #unseen(key: string): EndReport {
    const [slot = "", run] = key.split("#");
    const survivors = this.leftBehind.has(key);
    this.zombies.splice(0, Number.POSITIVE_INFINITY, ...this.zombies.filter((zombie) => zombie.key !== key));
    const death = this.deaths.get(key);
    if (death !== undefined) this.deaths.set(key, { ...death, isOrphan: true });
    return {
      t: "exited",
      slot,
      run: Number(run),
      pid: survivors ? GROUP : 0,
      code: null,
      signal: null,
      unknown: true,
      survivors,
      at: this.now,
    };
  }

  #over(report: EndReport): void {
    const key = keyOf(report);
    this.#journal.requested.delete(key);
    this.#journal.running.delete(key);
    this.#journal.ended.set(key, report);
    this.#flush();
    this.#tell(report);
  }

  #tell(message: FromKeeper): void {
    this.toService.push([message]);
  }

  #flush(): void {
    this.#disk = copyOf(this.#journal);
  }

  /** Everything that decides what can happen next; times are relative to now. */
  get fingerprint(): unknown {
    const { requested, running, ended, notes } = this.#journal;
    return [
      this.children.map(({ slot, run, signal }) => [slot, run, signal]),
      [...this.leftBehind],
      this.zombies.map(({ key, code }) => [key, code]),
      [...this.deaths],
      this.toKeeper,
      this.issued,
      this.toService,
      [...requested],
      [...running.keys()],
      [...ended.keys()],
      [...notes],
      this.#queue.map(keyOf),
      [...this.#prepared.values()],
      [...this.#adopted],
      this.isOpen,
      [...this.hooks],
      [...this.hooksOver.beforeStart],
      [...this.hooksOver.afterStop],
    ];
  }
}
