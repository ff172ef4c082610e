/** Asks a balancer, whoever started it, to give its place to another program: see `cluster/handoff.ts`. */
import { connect } from "node:net";
import { JsonLines, jsonLine } from "../base/json-lines.ts";
import type { BalancerIdentity, FromBalancer, ToBalancer } from "../ipc/balancer-protocol.ts";
import type { UpgradeStep } from "../ipc/upgrade-protocol.ts";

/** It gives its successor 20 s itself. Milliseconds. */
const PATIENCE_MS = 30_000;

/** `from`: version of the one that was there. */
export type BalancerUpgrade = { readonly from: string; readonly to: BalancerIdentity };

type WantedBalancer = { readonly argv: readonly string[]; readonly env: NodeJS.ProcessEnv };

/** Rejects with the reason why the old one goes on. */
export function upgradeBalancer(socketPath: string, wish: WantedBalancer): Promise<BalancerUpgrade> {
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath);
    let from = "";
    const over = (problem: string): void => {
      socket.destroy();
      reject(new UpgradeFailure(problem, from));
    };
    const lines = new JsonLines<FromBalancer>((message) => {
      if (message.t === "hello") {
        from = message.version;
        socket.write(jsonLine({ t: "succeed", ...wish } satisfies ToBalancer));
      } else if (message.t === "unsucceeded") over(message.problem);
      else if (message.t === "succeeded") {
        resolve({ from, to: message });
        socket.destroy();
      }
    });
    socket.setEncoding("utf8").setTimeout(PATIENCE_MS, () => over("the running balancer does not answer"));
    socket.on("data", (text: string) => lines.push(text));
    socket.on("error", ({ message }) => over(`the running balancer can't be spoken to: ${message}`));
    socket.on("close", () => over("the running balancer ended meanwhile"));
  });
}

/** As a step of an upgrade; undefined: there was none to replace. */
export async function stepOf(replace: () => Promise<BalancerUpgrade | undefined>): Promise<UpgradeStep | undefined> {
  const start = performance.now();
  const took = (): number => Math.round(performance.now() - start);
  try {
    const done = await replace();
    return done && { part: "balancer", from: done.from, to: done.to.version, ok: true, ms: took() };
  } catch (error) {
    const from = error instanceof UpgradeFailure ? error.from : "";
    return { part: "balancer", from, to: from, ok: false, ms: took(), problem: (error as Error).message };
  }
}

class UpgradeFailure extends Error {
  readonly from: string;

  constructor(problem: string, from: string) {
    super(problem);
    this.from = from;
  }
}
