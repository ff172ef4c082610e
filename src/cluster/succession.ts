/** A balancer gives its place to another program: the listening sockets go over as they are, so that nobody finds them closed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { BalancerIdentity, Front } from "../contract/balancer-protocol.ts";
import type { Balancer, Estate } from "./balancer.ts";
import type { Handle } from "./sockets.ts";

export type ToSuccessor =
  /** With the socket. */
  | { readonly t: "socket"; readonly id: string }
  /** It takes clients from now on. */
  | { readonly t: "begin"; readonly fronts: readonly Front[] };

export type FromSuccessor = { readonly t: "fit" } | ({ readonly t: "serving" } & BalancerIdentity);

/** For the other to load, and then to take over. Milliseconds. */
const PATIENCE_MS = 20_000;

export type Wish = { readonly argv: readonly string[]; readonly env: NodeJS.ProcessEnv };

/** Resolves when the other one takes clients. `estate` is asked for when it is fit. Rejects when it isn't: then all is as it was. */
export async function handOver({ argv, env }: Wish, estate: () => Estate): Promise<BalancerIdentity> {
  const [program = "", ...args] = argv;
  const successor = spawn(program, [...args, "--successor"], { stdio: ["ignore", "inherit", "inherit", "ipc"], detached: true, env });
  const over = new AbortController();
  const { signal } = over;
  const ended = Promise.race([
    once(successor, "exit", { signal }).then(([code, name]) => `it ended at once (${name ?? `exit code ${code}`})`),
    once(successor, "error", { signal }).then(([error]) => (error as Error).message),
    new Promise<string>((resolve) => setTimeout(resolve, PATIENCE_MS, "it did not take over in time").unref()),
  ]).then((problem) => Promise.reject(new Error(problem)));
  ended.catch(() => undefined);
  try {
    await Promise.race([wordOf(successor, "fit", signal), ended]);
    const { fronts, sockets } = estate();
    const serving = wordOf(successor, "serving", signal);
    const send = (message: ToSuccessor, socket?: Handle): void => void successor.send(message, socket as never, {}, () => undefined);
    for (const [id, socket] of sockets) send({ t: "socket", id }, socket);
    send({ t: "begin", fronts });
    return await Promise.race([serving, ended]);
  } catch (error) {
    successor.kill("SIGKILL");
    throw error;
  } finally {
    over.abort();
  }
}

/** The successor's part: resolves when it takes clients, or ends with the one that it was to succeed. */
export async function takeOver(balancer: Balancer, serve: () => Promise<BalancerIdentity>): Promise<void> {
  const say = (word: FromSuccessor): void => void process.send?.(word);
  const lost = (): never => process.exit(0);
  const sockets = new Map<string, Handle>();
  process.once("disconnect", lost);
  // All of its processes are there.
  await balancer.apply([]);
  const begun = new Promise<readonly Front[]>((resolve) =>
    process.on("message", (message: ToSuccessor, socket?: Handle) => {
      if (message.t === "begin") resolve(message.fronts);
      else if (socket !== undefined) sockets.set(message.id, socket);
    }),
  );
  say({ t: "fit" });
  await balancer.apply(await begun, sockets);
  process.off("disconnect", lost);
  say({ t: "serving", ...(await serve()) });
}

async function wordOf<T extends FromSuccessor["t"]>(
  successor: NodeJS.EventEmitter,
  type: T,
  signal: AbortSignal,
): Promise<Extract<FromSuccessor, { readonly t: T }>> {
  for (;;) {
    const [word] = (await once(successor, "message", { signal })) as [FromSuccessor];
    if (word.t === type) return word as Extract<FromSuccessor, { readonly t: T }>;
  }
}
