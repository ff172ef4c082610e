/**
 * The handle of a `net.Server`, which Node doesn't document. A process that only holds a listening socket must not have
 * opened it, as libuv accepts from each socket that it has opened; and Node has no documented way to pass a socket that
 * another process has opened.
 */
import { type Server, Socket, type SocketConstructorOpts } from "node:net";

/** Can be sent to a child or parent with a message. */
type ServerHandle = ListeningHandle & { readonly setBlocking: (isBlocking: boolean) => number };

/** A listening socket that has come with a message. */
export type ListeningHandle = { readonly fd: number; readonly close: () => void };

/** @throws if this version of Node has no such handle */
export function handleOf(server: Server | Socket): ServerHandle {
  const { _handle: handle } = server as { readonly _handle?: Partial<ServerHandle> | null };
  if (
    typeof handle?.fd === "number" &&
    handle.fd >= 0 &&
    typeof handle.setBlocking === "function" &&
    isListeningHandle(handle)
  )
    return handle as ServerHandle;
  throw new Error(
    `Node ${process.version} doesn't pass listening sockets as procman needs; use another version, or leave out "mode": "share"`,
  );
}

/** Checks a handle that was received with a message. */
export function isListeningHandle(handle: unknown): handle is ListeningHandle {
  const { fd, close } = (handle ?? {}) as { readonly fd?: unknown; readonly close?: unknown };
  return typeof fd === "number" && fd >= 0 && typeof close === "function";
}

/** A handle that takes over this inherited descriptor, so that it can be sent. Nothing is read from it. @throws as `handleOf` */
export function handleFor(fd: number): ListeningHandle {
  return handleOf(new Socket({ fd, readable: false, writable: false }));
}

/**
 * Calls once when a client waits in the queue of this listening socket, where it stays: what reads from the socket fails
 * then (ENOTCONN), and not before. The handle is closed after that, or by the returned function.
 */
export function onceQueued(handle: ListeningHandle, call: () => void): () => void {
  const reader = new Socket({ handle, readable: true, writable: false } as SocketConstructorOpts);
  reader.once("error", call).resume();
  return () => void reader.destroy();
}
