// The load while the manager is killed: processes that print, crash and serve.
import { fileURLToPath } from "node:url";

const PROGRAMS = fileURLToPath(new URL("programs/", import.meta.url));

/** These end only if the manager's death ends them. */
export const STEADY = ["print-1", "print-2", "serve-1", "serve-2"];
export const CRASHERS = ["crash-1", "crash-2"];
/** Processes with numbered lines. */
export const PRINTERS = ["print-1", "print-2", ...CRASHERS];

/** @returns {readonly { id: string, argv: readonly string[], log: string }[]} */
export function loadIn(folder, firstPort) {
  const program = (id, name, ...args) => ({
    id,
    argv: [process.execPath, `${PROGRAMS}${name}.mjs`, folder, id, ...args.map(String)],
    log: `${folder}/logs/${id}.log`,
  });
  return [
    program("print-1", "printer", 262_144, 100),
    program("print-2", "printer", 20_000, 20),
    program("crash-1", "crasher", 200, 800),
    program("crash-2", "crasher", 500, 2_000),
    program("serve-1", "server", firstPort),
    program("serve-2", "server", firstPort + 1),
  ];
}
