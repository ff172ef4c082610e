/** Resource limits and account of a run. */

export const ULIMITS = ["as", "core", "cpu", "data", "fsize", "memlock", "nofile", "nproc", "stack"] as const;

/** Bytes; for `cpu` seconds, for `nofile` and `nproc` a count. -1: unlimited. */
export type Ulimits = Readonly<Partial<Record<(typeof ULIMITS)[number], number>>>;

export const IO_CLASSES = ["realtime", "best-effort", "idle"] as const;

/** `level`: from 0, the highest priority, to 7; not for `idle`. */
export type IoPriority = { readonly class: (typeof IO_CLASSES)[number]; readonly level?: number };

export type UserAccount = { readonly name: string; readonly uid: number; readonly gid: number; readonly home?: string };
