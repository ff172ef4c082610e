/**
 * glibc gives each thread of a process a heap of its own (mallopt(3), M_ARENA_MAX), and what V8's threads have needed once stays in theirs:
 * 3 MB and more of the service. Procman's own processes have one for all.
 */
const VARIABLE = "MALLOC_ARENA_MAX";

/** Read by the C library before anything of ours runs. */
export function arenasVariable(): NodeJS.ProcessEnv {
  return { [VARIABLE]: "1" };
}

/** It isn't meant for whoever this process starts. */
export function dropArenas(): void {
  delete process.env[VARIABLE];
}
