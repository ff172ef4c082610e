/**
 * `PROCMAN_RUN_ID` names one run of one slot of one state folder: `web.3@FOLDER.PROOF`. Every descendant that keeps its
 * environment carries the marker, even after it has left the process group. The proof is a keyed hash, so no other
 * program can make a marker.
 */
import { fingerprint } from "./hash.ts";
import { sipHash } from "./sip-hash.ts";

/** `isProven`: procman has made it; otherwise the process must belong to the user of the slot, or to procman's. */
export type RunMarker = { readonly slot: string; readonly run: number; readonly isProven: boolean };

/** Variables with markers: of runs, of their hooks, of commands of `exec`, and of threads of plugins, whose slot is the id of the plugin. */
export type MarkerVariable = "PROCMAN_RUN_ID" | "PROCMAN_HOOK_ID" | "PROCMAN_EXEC_ID" | "PROCMAN_PLUGIN_ID";

/** The variable, in an environment that separates its variables by NUL bytes (on macOS by spaces). */
const PATTERNS: Readonly<Record<MarkerVariable, RegExp>> = {
  PROCMAN_RUN_ID: /(?:^|[\0 ])PROCMAN_RUN_ID=([^\0 ]*)/,
  PROCMAN_HOOK_ID: /(?:^|[\0 ])PROCMAN_HOOK_ID=([^\0 ]*)/,
  PROCMAN_EXEC_ID: /(?:^|[\0 ])PROCMAN_EXEC_ID=([^\0 ]*)/,
  PROCMAN_PLUGIN_ID: /(?:^|[\0 ])PROCMAN_PLUGIN_ID=([^\0 ]*)/,
};

export class RunMarkers {
  readonly #folder: string;
  readonly #pattern: RegExp;
  readonly #variable: RegExp;
  /** 32 hexadecimal digits, kept by the keeper. A service learns it with its snapshot. */
  key: string;

  constructor(stateDir: string, key: string, variable: MarkerVariable = "PROCMAN_RUN_ID") {
    this.#folder = fingerprint(stateDir);
    this.#pattern = new RegExp(`^(.*)\\.(\\d+)@${this.#folder}\\.([0-9a-f]{16})$`);
    this.key = key;
    this.#variable = PATTERNS[variable];
  }

  of(slot: string, run: number): string {
    const name = `${slot}.${run}@${this.#folder}`;
    return `${name}.${sipHash(this.key, name)}`;
  }

  /** By which the runs of this process know the balancer's headers. */
  proxyToken(id: string): string {
    return sipHash(this.key, `${id} proxy@${this.#folder}`);
  }

  /** The marker in this environment; undefined: it has none of this state folder. */
  in(environment: string): RunMarker | undefined {
    const [, marker] = this.#variable.exec(environment) ?? [];
    const [, slot, digits] = marker === undefined ? [] : (this.#pattern.exec(marker) ?? []);
    if (slot === undefined) return undefined;
    const run = Number(digits);
    return { slot, run, isProven: marker === this.of(slot, run) };
  }
}
