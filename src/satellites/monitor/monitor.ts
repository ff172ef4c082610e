/** The loop of the full screen: keys and news change the model, each change is drawn. */
import { JobSuspension } from "../../cli/output/job-suspension.ts";
import { type ApiPlace, connectTo } from "../../client/connection/connect.ts";
import { wantsColors } from "../../core/os/colors.ts";
import { signalCode } from "../../core/os/signal-name.ts";
import { frameOf } from "./frame.ts";
import { LiveFeed } from "./live-feed.ts";
import { followedId, visibleRows } from "./monitor-layout.ts";
import { CONSUMER, initialModel, type MonitorEffect, type MonitorInput, type MonitorModel } from "./monitor-model.ts";
import { update } from "./monitor-update.ts";
import { paletteFor } from "./palette.ts";
import { TerminalScreen } from "./terminal-screen.ts";
import { loadWidths } from "./text-clusters.ts";

/** Time between frames, at least. Milliseconds. */
const FRAME_MS = 33;
const TICK_MS = 1_000;
const ENDING = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const;

export type MonitorOptions = {
  readonly place: ApiPlace;
  /** Why there are no logs; undefined: there are. */
  readonly logProblem: () => string | undefined;
  readonly isMouse: boolean;
};

/** Resolves when the user quits. @throws {ProcmanError} `no-daemon`, `service-down`, before anything is drawn */
export async function runMonitor(options: MonitorOptions): Promise<void> {
  const terminal = new TerminalScreen({ input: process.stdin, output: process.stdout }, options.isMouse);
  const monitor = new Monitor(terminal, options);
  await monitor.run();
}

class Monitor {
  readonly #terminal: TerminalScreen;
  readonly #feed: LiveFeed;
  readonly #palette = paletteFor(wantsColors(process.stdout));
  #model: MonitorModel;
  #frame: NodeJS.Timeout | undefined;
  #drawn = 0;
  /** The shell shows that it is stopped, on the screen as it was. */
  readonly #job: JobSuspension;
  #onQuit = (): void => undefined;

  constructor(terminal: TerminalScreen, { place, logProblem }: MonitorOptions) {
    this.#terminal = terminal;
    this.#job = new JobSuspension(
      () => terminal.leave(),
      () => {
        terminal.enter();
        this.#dispatch({ type: "resize", size: terminal.size });
      },
    );
    this.#model = initialModel(terminal.size, Date.now());
    this.#feed = new LiveFeed({
      connect: (observer) => connectTo(place, CONSUMER, undefined, observer),
      logProblem,
      dispatch: (input) => this.#dispatch(input),
    });
  }

  async run(): Promise<void> {
    await this.#feed.open();
    const quit = new Promise<void>((resolve) => {
      this.#onQuit = resolve;
    });
    // Also after an error that no part has caught.
    process.once("exit", () => this.#terminal.leave());
    for (const signal of ENDING) process.once(signal, () => process.exit(signalCode(signal)));
    process.stdin
      .once("error", () => process.exit(signalCode("SIGHUP")))
      .once("end", () => process.exit(signalCode("SIGHUP")));
    this.#job.listen();
    process.stdout.on("resize", () => this.#dispatch({ type: "resize", size: this.#terminal.size }));
    this.#terminal.onKeys((keys) => {
      for (const key of keys) this.#dispatch({ type: "key", key });
    });
    this.#terminal.enter();
    this.#draw();
    await loadWidths();
    this.#terminal.forget();
    this.#draw();
    setInterval(() => this.#dispatch({ type: "tick", now: Date.now() }), TICK_MS);
    await Promise.race([quit, this.#feed.run()]).finally(() => this.#end());
    // Requests may still be under way: procman carries them out.
    process.exit();
  }

  #dispatch(input: MonitorInput): void {
    const { model, effects } = update(this.#model, input);
    this.#model = model;
    for (const effect of effects) this.#carryOut(effect);
    this.#feed.follow(followedId(this.#model));
    this.#feed.wantHistories(visibleRows(this.#model).map(({ id }) => id));
    this.#frame ??= setTimeout(() => this.#draw(), Math.max(0, this.#drawn + FRAME_MS - performance.now()));
  }

  #carryOut(effect: MonitorEffect): void {
    switch (effect.type) {
      case "quit":
        return this.#onQuit();
      case "suspend":
        return this.#job.suspend();
      case "redraw":
        return this.#terminal.forget();
      default:
        return this.#feed.ask(effect);
    }
  }

  #draw(): void {
    clearTimeout(this.#frame);
    this.#frame = undefined;
    this.#drawn = performance.now();
    this.#terminal.draw(frameOf(this.#model, this.#palette));
  }

  #end(): void {
    this.#feed.close();
    this.#terminal.leave();
  }
}
