/**
 * Asks the program of a backend whether it reads headers with its token: the module of `"node": true` answers a header
 * that names no client with the token. All other programs say something else, end the connection, or wait for more.
 */
import { shared } from "./buffer-pool.ts";
import { localHeader } from "./proxy-protocol.ts";
import type { Tcp, TcpHandle } from "./tcp-handle.ts";

/** Without an answer for so long, it counts as a program that waits for more. Milliseconds. */
const SILENT_MS = 5_000;

export type HeaderQuestionOptions = {
  /** Version of the backend. */
  readonly version: number;
  readonly token: string;
  /** Called once; a second time if a program that was held up answers after all. */
  readonly answered: (readsHeader: boolean) => void;
};

export class HeaderQuestion {
  readonly version: number;
  readonly #socket: TcpHandle;
  readonly #silence: NodeJS.Timeout;
  isClosed = false;

  constructor(tcp: Tcp, socket: TcpHandle, { version, token, answered }: HeaderQuestionOptions) {
    this.version = version;
    this.#socket = socket;
    this.#silence = setTimeout(answered, SILENT_MS, false);
    let answer = "";
    const onRead = (count: number): undefined => {
      if (count === 0) return;
      if (count > 0) answer += shared.toString("hex", 0, count);
      if (count > 0 && answer !== token && token.startsWith(answer)) return;
      this.close();
      answered(answer === token);
    };
    tcp.setOwner(socket, { onRead, onWritten: () => undefined, onShutdown: () => undefined });
    socket.useUserBuffer(shared);
    socket.readStart();
    tcp.write(socket, localHeader(token));
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.#silence);
    this.#socket.close();
  }
}
