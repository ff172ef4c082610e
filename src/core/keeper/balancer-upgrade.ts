/** Asks the running balancer, own or adopted, to hand over to another program: see `balancer/handoff.ts`. */
import { JsonLines, jsonLine } from "../base/json-lines.ts";
import { type BalancerIdentity, type FromBalancer, isAnswer, type ToBalancer } from "../ipc/balancer-protocol.ts";
import type { UpgradeStep } from "../ipc/upgrade-protocol.ts";
import { connectUnix } from "../os/unix-socket.ts";

/** The balancer itself gives its successor 20 s. Milliseconds. */
const TIMEOUT_MS = 30_000;

/** `from`: version of the old one. */
export type BalancerUpgrade = { readonly from: string; readonly to: BalancerIdentity };

type BalancerProgram = { readonly argv: readonly string[]; readonly env: NodeJS.ProcessEnv };

/** Rejects with the reason why the old one stays. */
export function upgradeBalancer(socketPath: string, program: BalancerProgram): Promise<BalancerUpgrade> {
  return new Promise((resolve, reject) => {
    const socket = connectUnix(socketPath);
    let from = "";
    const fail = (problem: string): void => {
      socket.destroy();
      reject(new UpgradeFailure(problem, from));
    };
    const refused = (problem: string): void => fail(`the running balancer can't be understood: ${problem}`);
    const onMessage = (message: FromBalancer): void => {
      if (!isAnswer(message)) refused(`a message ${JSON.stringify(message.t)} is damaged`);
      else if (message.t === "hello") {
        from = message.version;
        socket.write(jsonLine({ t: "succeed", ...program } satisfies ToBalancer));
      } else if (message.t === "unsucceeded" || message.t === "refused") fail(message.problem);
      else if (message.t === "succeeded") {
        resolve({ from, to: message });
        socket.destroy();
      }
    };
    const lines = new JsonLines<FromBalancer>({ message: onMessage, refused });
    socket.setEncoding("utf8").setTimeout(TIMEOUT_MS, () => fail("the running balancer does not answer"));
    socket.on("data", (text: string) => lines.push(text));
    socket.on("error", ({ message }) => fail(`the running balancer can't be reached: ${message}`));
    socket.on("close", () => fail("the running balancer ended meanwhile"));
  });
}

/** As a step of an upgrade; undefined: there was none to replace. */
export async function upgradeStepOf(
  replace: () => Promise<BalancerUpgrade | undefined>,
): Promise<UpgradeStep | undefined> {
  const start = performance.now();
  const elapsed = (): number => Math.round(performance.now() - start);
  try {
    const done = await replace();
    return done && { part: "balancer", from: done.from, to: done.to.version, ok: true, ms: elapsed() };
  } catch (error) {
    const from = error instanceof UpgradeFailure ? error.from : "";
    return { part: "balancer", from, to: from, ok: false, ms: elapsed(), problem: (error as Error).message };
  }
}

class UpgradeFailure extends Error {
  readonly from: string;

  constructor(problem: string, from: string) {
    super(problem);
    this.from = from;
  }
}
