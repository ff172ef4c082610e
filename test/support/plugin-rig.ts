/** Plugins of tests, written beside the configuration, and their records. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PluginRecord } from "../../src/core/contract/plugin-record.ts";
import type { Endpoint } from "../../src/core/contract/records.ts";
import type { StateRecord } from "../../src/core/contract/state-record.ts";
import { payloadOf } from "../../src/core/contract/token-claims.ts";
import { signJwt } from "../../src/core/os/jwt.ts";
import { eventually, folderWith, type ProcessConfig, Procman } from "./procman-process.ts";

type Context = Parameters<typeof folderWith>[0];
export type Entry = { readonly url: string; readonly integrity?: string; readonly options?: object };

/** `modules`: texts of setup functions, or of whole modules, by file name. */
export function withPlugins(
  context: Context,
  modules: Readonly<Record<string, string>>,
  options: {
    readonly processes?: readonly ProcessConfig[];
    readonly plugins?: readonly Entry[];
    readonly env?: NodeJS.ProcessEnv;
  } = {},
): Procman {
  const {
    processes = [TICKING],
    plugins = Object.keys(modules).map((name) => ({ url: `./${name}` })),
    env = {},
  } = options;
  const folder = folderWith(context, { processes, plugins });
  for (const [name, text] of Object.entries(modules)) writeFileSync(join(folder, name), text);
  return new Procman(folder, { env });
}

export const TICKING: ProcessConfig = { id: "web", cmd: "while :; do echo tick; sleep 0.1; done", autostart: true };

/** A module with this as its setup. */
export function setup(body: string, more = ""): string {
  return `export default { name: "test", version: "1.0.0", ${more} async setup({ control, events, options, log, signal, folder }) { ${body} } };\n`;
}

/** A request to the API with a token of this consumer. */
export async function api<Answer>(
  procman: Procman,
  path: string,
  { method = "GET", consumer = "test" } = {},
): Promise<Answer> {
  const [text, secret] = await eventually(() => {
    try {
      return [
        readFileSync(join(procman.stateDir, "endpoint.json"), "utf8"),
        readFileSync(join(procman.stateDir, "secret")),
      ] as const;
    } catch {
      return undefined;
    }
  });
  const { hostname, port } = JSON.parse(text) as Endpoint;
  const token = signJwt(payloadOf({ audience: "procman", consumer, scopes: ["admin"] }), secret);
  const headers = { authorization: `Bearer ${token}`, connection: "close" };
  const answer = await fetch(`http://${hostname}:${port}${path}`, { method, headers });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

/** Its record once `isRight` is true. */
export async function plugin(
  procman: Procman,
  id: string,
  isRight: (record: PluginRecord) => boolean,
): Promise<PluginRecord> {
  let last: unknown;
  for (
    const end = performance.now() + 40_000;
    performance.now() < end;
    await new Promise((resolve) => setTimeout(resolve, 50))
  ) {
    // There is no answer while the service restarts.
    const state = await api<StateRecord>(procman, "/state").catch((error: Error) => error);
    const record = state instanceof Error ? undefined : state.plugins?.find((each) => each.id === id);
    if (record !== undefined && isRight(record)) return record;
    last = record ?? state;
  }
  throw new Error(`timed out waiting for plugin ${id}; last: ${JSON.stringify(last)}`);
}
