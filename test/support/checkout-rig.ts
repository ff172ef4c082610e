/** Checkouts of one project whose processes have free ports: `"port": "auto"`. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { procman as cli, type Outcome } from "./cli.ts";
import { eventually, folderWith, type ProcessConfig, Procman } from "./procman-process.ts";

const SERVER = fileURLToPath(new URL("../programs/tell-ports.mjs", import.meta.url));

/** Of fifty that start at once. Milliseconds. */
const PATIENCE_MS = 120_000;

/** What a server says. */
type Told = { readonly pid: number; readonly port: number; readonly peer?: string };

/** A server that names the port of another one. */
export function server(id: string, peer: string, more: object = {}): ProcessConfig {
  return {
    id,
    cmd: `node ${SERVER}`,
    autostart: true,
    port: "auto",
    env: { PEER: `{port:${peer}}` },
    health: { http: "http://127.0.0.1:{port}/", interval: 1 },
    ...more,
  };
}

export const PAIR: readonly ProcessConfig[] = [server("web", "api"), server("api", "web")];

type Context = { readonly after: (call: () => void | Promise<void>) => void };

export class Checkout {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;

  constructor(folder: string, env: NodeJS.ProcessEnv) {
    this.folder = folder;
    this.env = env;
  }

  get stateDir(): string {
    return join(this.folder, ".procman/procman");
  }

  /** By id, as the state folder keeps them. */
  get ports(): Readonly<Record<string, number>> {
    return JSON.parse(readFileSync(join(this.stateDir, "ports.json"), "utf8"));
  }

  start(): Procman {
    return new Procman(this.folder, { env: this.env });
  }

  cli(...args: readonly string[]): Promise<Outcome> {
    return cli(this.folder, args, this.env);
  }

  /** What the server of this id says, once it answers on the port that is kept for it. */
  async told(id: string): Promise<Told> {
    return eventually(
      async () => {
        const port = existsSync(join(this.stateDir, "ports.json")) ? this.ports[id] : undefined;
        const answer = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined);
        return answer === undefined ? undefined : ((await answer.json()) as Told);
      },
      { what: `${id} in ${this.folder}`, ms: PATIENCE_MS },
    );
  }
}

/** Checkouts of one user. Reservations are in a folder of the test. */
export function checkouts(context: Context, count: number, config: object = {}): readonly Checkout[] {
  const home = mkdtempSync(join(tmpdir(), "procman-home-"));
  context.after(() => rmSync(home, { recursive: true, force: true }));
  const env = { XDG_STATE_HOME: home };
  return Array.from({ length: count }, () => new Checkout(folderWith(context, { processes: PAIR, ...config }), env));
}

/** Starts all at once: each server answers on a port that no other one has, and knows that of its peer. */
export async function startTogether(all: readonly Checkout[]): Promise<void> {
  for (const checkout of all) checkout.start();
  const told = await Promise.all(
    all.map(async (checkout) => {
      const [web, api] = [await checkout.told("web"), await checkout.told("api")];
      assert.deepEqual([web.peer, api.peer], [String(api.port), String(web.port)]);
      return [web.port, api.port];
    }),
  );
  assert.equal(new Set(told.flat()).size, 2 * all.length, told.join());
}
