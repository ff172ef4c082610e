/** The channel on which a worker is asked to finish: Node's IPC channel, so it comes as a `message` of `process`. */
import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";

/** What a worker sends is discarded, one chunk in this many milliseconds, so that it costs no memory and little time. */
const PIECE_MS = 10;

export class WorkerChannel {
  readonly #socket: Socket;
  readonly #farewell: string;

  /** `fd`: the channel's descriptor in the worker. `farewell`: the message with which it is asked to finish. */
  constructor(child: ChildProcess, fd: number, farewell = "drain") {
    this.#farewell = farewell;
    const end = child.stdio[fd];
    if (!(end instanceof Socket)) throw new Error(`no channel at descriptor ${fd}`);
    this.#socket = end;
    // Emitted when the worker closes it or ends.
    end.on("error", () => end.destroy());
    end.on("data", () => {
      end.pause();
      setTimeout(() => end.resume(), PIECE_MS).unref();
    });
  }

  /** @returns false when the channel is closed. */
  drain(): boolean {
    if (!this.#socket.writable) return false;
    this.#socket.write(`${JSON.stringify(this.#farewell)}\n`);
    return true;
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Node finds the channel by these variables, and removes them from `process.env`. */
export function channelVariables(fd: number): Readonly<Record<string, string>> {
  return { NODE_CHANNEL_FD: String(fd), NODE_CHANNEL_SERIALIZATION_MODE: "json" };
}
