/** The channel on which a worker is told to finish: Node's own, so that it comes as a `message` of its `process`. */
import type { ChildProcess } from "node:child_process";
import { Socket } from "node:net";

/** What a worker sends is thrown away, a piece in so many milliseconds: as much as it likes, it costs no memory and little time. */
const PIECE_MS = 10;

export class WorkerChannel {
  readonly #socket: Socket;

  /** `fd`: what the worker has it as. */
  constructor(child: ChildProcess, fd: number) {
    const end = child.stdio[fd];
    if (!(end instanceof Socket)) throw new Error(`no channel at descriptor ${fd}`);
    this.#socket = end;
    // Closed by the worker, or by its end.
    end.on("error", () => end.destroy());
    end.on("data", () => {
      end.pause();
      setTimeout(() => end.resume(), PIECE_MS).unref();
    });
  }

  /** @returns whether the worker can hear it. */
  drain(): boolean {
    if (!this.#socket.writable) return false;
    this.#socket.write('"drain"\n');
    return true;
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** Node takes up the channel by these, and hides them from the program. */
export function channelVariables(fd: number): Readonly<Record<string, string>> {
  return { NODE_CHANNEL_FD: String(fd), NODE_CHANNEL_SERIALIZATION_MODE: "json" };
}
