/**
 * The handle of a `net.Server`, which Node doesn't document. A process that only holds a listening socket must not have
 * opened it, as libuv accepts from each socket that it has opened; and Node has no documented way to pass a socket that
 * another process has opened.
 */
import type { Server } from "node:net";

/** Can be sent to a child or parent with a message. */
type ServerHandle = { readonly fd: number; readonly setBlocking: (isBlocking: boolean) => number };

/** @throws if this version of Node has no such handle */
export function handleOf(server: Server): ServerHandle {
  const { _handle: handle } = server as { readonly _handle?: Partial<ServerHandle> | null };
  if (typeof handle?.fd === "number" && handle.fd >= 0 && typeof handle.setBlocking === "function")
    return handle as ServerHandle;
  throw new Error(
    `Node ${process.version} doesn't pass listening sockets as procman needs; use another version, or leave out "mode": "share"`,
  );
}

/** Checks a handle that was received with a message. */
export function isListeningHandle(handle: unknown): handle is { readonly fd: number; readonly close: () => void } {
  const { fd, close } = (handle ?? {}) as { readonly fd?: unknown; readonly close?: unknown };
  return typeof fd === "number" && fd >= 0 && typeof close === "function";
}
