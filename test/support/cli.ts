/** Runs commands of procman to their end, and procman in the background. */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { cleanEnvironment, folderWith, isAlive, type ProcessConfig, processExit } from "./procman-process.ts";
import { BIN } from "./product.ts";

export type Outcome = { readonly code: number; readonly out: string; readonly err: string };

export function procman(cwd: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, [BIN, ...args], { cwd, env: cleanEnvironment(env) }, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code), out, err }),
    );
  });
}

/** Pid of the keeper that holds the lock of a state folder; 0: none. */
export function keeperIn(stateDir: string): number {
  const name = existsSync(stateDir) ? readdirSync(stateDir).find((each) => /^lock\.\d+$/.test(each)) : undefined;
  const pid =
    name === undefined
      ? 0
      : Number((JSON.parse(readFileSync(join(stateDir, name), "utf8")) as { readonly pid: number }).pid);
  return pid > 1 && isAlive(pid) ? pid : 0;
}

/** A process that runs until it is stopped. It counts as up after a moment: by default, commands wait a second for that. */
export const SLEEPER = { cmd: "sleep 1000", autostart: true, minUptimeMs: 50 } as const;

type Context = { readonly after: (call: () => void | Promise<void>) => void };

/** A folder with this configuration, named `test`. A procman that still runs in it is ended after the test. */
export function homeOf(
  context: Context,
  processes: readonly ProcessConfig[],
  config: object = {},
): { readonly folder: string; readonly state: string } {
  // Registered first, so called first: before the folder is removed.
  let state = "";
  context.after(async () => {
    const keeper = keeperIn(state);
    if (keeper === 0) return;
    process.kill(keeper, "SIGTERM");
    await processExit(keeper);
  });
  const folder = folderWith(context, { name: "test", processes, ...config });
  state = join(folder, ".procman/test");
  return { folder, state };
}
