/** Tells systemd how the keeper is (sd_notify(3)): that it is ready, that it is alive, that it needs longer to stop. */
import { execFile } from "node:child_process";
import { warn } from "./log.ts";

/** A unit with `WatchdogSec=` hears this often from the keeper within that time: one message may get lost. */
const PER_PERIOD = 3;
/** Without a watchdog only a stop is reported. Milliseconds. */
const STOP_REPORT_MS = 20_000;
/** Each report of a stop asks for this much more time. Microseconds. */
const EXTENSION_US = 90_000_000;

/** Node opens no datagram socket of this kind, so systemd's own program sends the message. */
const SENDER = "systemd-notify";

export type InitNoticeOptions = {
  readonly isStopping: () => boolean;
  /** Sends a message to the socket; calls back with what went wrong. */
  readonly send?: (message: readonly string[], socket: string, done: (problem?: string) => void) => void;
};

export class InitNotice {
  readonly #options: Required<InitNoticeOptions>;
  readonly #socket: string | undefined;
  readonly #isWatched: boolean;
  readonly #periodMs: number;
  #timer: NodeJS.Timeout | undefined;
  #hasProblem = false;

  /** Takes its variables out of `env`: they are for this process alone. */
  constructor(env: NodeJS.ProcessEnv, { send = sendBySystemd, ...options }: InitNoticeOptions) {
    this.#options = { send, ...options };
    const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdog, WATCHDOG_PID: watched = String(process.pid) } = env;
    // Started by systemd itself, or the first process of a container: elsewhere the socket is that of a program above.
    const isMeant = env.SYSTEMD_EXEC_PID === String(process.pid) || process.pid === 1;
    this.#socket = isMeant ? socket : undefined;
    const periodUs = Number(watchdog ?? 0);
    this.#isWatched = periodUs > 0 && watched === String(process.pid);
    this.#periodMs = this.#isWatched ? periodUs / 1_000 / PER_PERIOD : STOP_REPORT_MS;
    for (const name of ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"]) delete env[name];
  }

  /** The processes are supervised. Only the first call counts. */
  ready(): void {
    if (this.#socket === undefined || this.#timer !== undefined) return;
    this.#tell(["READY=1"]);
    this.#timer = setInterval(() => this.#report(), this.#periodMs).unref();
  }

  stopping(): void {
    this.#tell(["STOPPING=1", `EXTEND_TIMEOUT_USEC=${EXTENSION_US}`]);
  }

  #report(): void {
    const isStopping = this.#options.isStopping();
    if (!this.#isWatched && !isStopping) return;
    this.#tell([
      ...(this.#isWatched ? ["WATCHDOG=1"] : []),
      ...(isStopping ? [`EXTEND_TIMEOUT_USEC=${EXTENSION_US}`] : []),
    ]);
  }

  #tell(message: readonly string[]): void {
    if (this.#socket === undefined) return;
    this.#options.send(message, this.#socket, (problem) => {
      if (problem !== undefined && !this.#hasProblem) warn(`systemd can't be told ${message.join(" ")}: ${problem}`);
      this.#hasProblem = problem !== undefined;
    });
  }
}

function sendBySystemd(message: readonly string[], socket: string, done: (problem?: string) => void): void {
  const env = { PATH: process.env.PATH, NOTIFY_SOCKET: socket };
  execFile(SENDER, message, { env, timeout: STOP_REPORT_MS }, (error, _out, stderr) =>
    done(error === null ? undefined : stderr.trim() || error.message),
  );
}
