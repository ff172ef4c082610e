/** A fake keeper without a service: a process that holds the lock of a state folder. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { cleanEnvironment } from "./procman-process.ts";

const SCRIPT = fileURLToPath(new URL("../programs/hold-state-lock.ts", import.meta.url));

/** `report`: its answer to a request for an upgrade; "end": it ends instead; "": no answer. */
export async function fakeKeeper(
  context: { readonly after: (call: () => void) => void },
  state: string,
  report: object | "end" | "" = "",
): Promise<ChildProcess & { readonly pid: number }> {
  mkdirSync(state, { recursive: true });
  const answer = typeof report === "string" ? report : JSON.stringify(report);
  const keeper = spawn(process.execPath, ["--import", "tsx", SCRIPT, state, answer], {
    env: cleanEnvironment(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  context.after(() => void keeper.kill("SIGKILL"));
  await once(keeper.stdout, "data");
  if (keeper.pid === undefined) throw new Error("no fake keeper");
  return Object.assign(keeper, { pid: keeper.pid });
}
