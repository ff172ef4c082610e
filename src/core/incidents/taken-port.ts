/** The port of which the last lines of a run say that it is in use. */

/** Node, Bun, Go, Ruby, nginx; Deno; Spring, Vite, Flask, Django; gunicorn. */
const IN_USE =
  /EADDRINUSE|AddrInUse|address (?:is )?already in use|\bport(?: \d{1,5})? (?:is|was) (?:already )?(?:in use|being used)|connection in use:/i;
/** `2026-11-27 03:26:01.123`, whose minutes look like a port. */
const TIMES = /(?<![\d.:])\d{1,2}:\d{2}(?::\d{2})?(?:[.,]\d+)?(?=[\sZ+\]-]|$)/g;
/** `:::4888`, `0.0.0.0:80`, `port 3000`, `('127.0.0.1', 8000)`. */
const PORTS = /(?::|\bport:? |['"], )(\d{1,5})(?!\w|[.:]\w)/gi;
/** Words of a command that may be a port: `8000`, `--port=8000`, `localhost:8000`. */
const ARGUMENTS = /(?<![\w.])(\d{2,5})(?![\w.:])/g;
const MAX_PORT = 65_535;

/** What else may be the port: that of its specification, its variable PORT, and its command. */
export type PortClues = { readonly port?: number | undefined; readonly variable?: string; readonly command: string };

/** The ports that may be meant, the likeliest first; empty if no line says that a port is in use. */
export function takenPorts(lines: readonly string[], { port, variable = "", command }: PortClues): readonly number[] {
  const said = lines.filter((line) => IN_USE.test(line)).reverse();
  if (said.length === 0) return [];
  const named = said.flatMap((line) => portsIn(line.replace(TIMES, ""), PORTS).reverse());
  if (named.length > 0) return named;
  return [...(port === undefined ? [] : [port]), ...portsIn(variable, ARGUMENTS), ...portsIn(command, ARGUMENTS)];
}

function portsIn(text: string, pattern: RegExp): number[] {
  return [...text.matchAll(pattern)].map(([, digits]) => Number(digits)).filter((port) => port > 0 && port <= MAX_PORT);
}
