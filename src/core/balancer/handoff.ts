/** Hands the ports over to another balancer program: the listening sockets are passed on open, so that no client is refused. */
import { spawn } from "node:child_process";
import { on, once } from "node:events";
import type { BalancerIdentity, Front } from "../ipc/balancer-protocol.ts";
import type { Balancer, HeldConnections } from "./balancer.ts";
import type { Tcp, TcpServer } from "./tcp-handle.ts";
import type { IdleTimeouts } from "./worker.ts";

/** Both types are exchanged between versions: fields may only be added. */
export type ToSuccessor =
  /** Accompanied by the listening socket. */
  | { readonly t: "socket"; readonly id: string }
  /** Accept clients from now on. `held`: connections that stay here. */
  | ({ readonly t: "begin"; readonly fronts: readonly Front[] } & Partial<Held>)
  | ({ readonly t: "held" } & Held);

/** `waking`: clients that wait here and wake instances, by id of the front. */
type Held = { readonly held: HeldConnections; readonly waking?: Readonly<Record<string, number>> };

/** `fit`: ready to take the sockets. `idle`: they apply to the connections that stay, too. */
export type FromSuccessor =
  | { readonly t: "fit" }
  | ({ readonly t: "serving" } & BalancerIdentity)
  | { readonly t: "idle"; readonly timeouts: IdleTimeouts };

/** For the successor to start and take over. */
const TIMEOUT_MS = 20_000;

/** Interval at which the successor gets the numbers of the connections that stay here. Milliseconds. */
const HELD_MS = 100;

export type HandoffRequest = { readonly argv: readonly string[]; readonly env: NodeJS.ProcessEnv };

/** Resolves when the successor accepts clients. Rejects when it failed: then nothing has changed here. */
export async function handOver({ argv, env }: HandoffRequest, balancer: Balancer): Promise<BalancerIdentity> {
  const [program = "", ...args] = argv;
  const successor = spawn(program, [...args, "--successor"], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    detached: true,
    env,
  });
  const aborter = new AbortController();
  const { signal } = aborter;
  const ended = Promise.race([
    once(successor, "exit", { signal }).then(([code, name]) => `it ended at once (${name ?? `exit code ${code}`})`),
    once(successor, "error", { signal }).then(([error]) => (error as Error).message),
    new Promise<string>((resolve) => setTimeout(resolve, TIMEOUT_MS, "it did not take over in time").unref()),
  ]).then((problem) => Promise.reject(new Error(problem)));
  ended.catch(() => undefined);
  try {
    await Promise.race([messageOf(successor, "fit", signal), ended]);
    const { fronts, servers } = balancer.listeningState;
    const serving = messageOf(successor, "serving", signal);
    const send = (message: ToSuccessor, server?: TcpServer): void =>
      void successor.send(message, server?.transferable as never, {}, () => undefined);
    successor.on(
      "message",
      (message: FromSuccessor) => message.t === "idle" && balancer.setIdleTimeouts(message.timeouts),
    );
    for (const [id, server] of servers) send({ t: "socket", id }, server);
    const held = (): Held => ({ held: balancer.held, waking: balancer.waking });
    send({ t: "begin", fronts, ...held() });
    const identity = await Promise.race([serving, ended]);
    setInterval(() => successor.connected && send({ t: "held", ...held() }), HELD_MS).unref();
    return identity;
  } catch (error) {
    successor.kill("SIGKILL");
    throw error;
  } finally {
    aborter.abort();
  }
}

/** The successor's part. Resolves when it accepts clients; ends the process when the predecessor ends before that. */
export async function takeOver(tcp: Tcp, balancer: Balancer, serve: () => Promise<BalancerIdentity>): Promise<void> {
  // Without the callback a predecessor that ends at this moment would be an uncaught error here.
  const send = (message: FromSuccessor): void => void process.send?.(message, undefined, {}, () => undefined);
  const lost = (): never => process.exit(0);
  const servers = new Map<string, TcpServer>();
  process.once("disconnect", lost);
  if (!process.connected) lost();
  // Resolves when all processes of this balancer have started.
  await balancer.apply([]);
  const frontsToServe = new Promise<readonly Front[]>((resolve) =>
    process.on("message", (message: ToSuccessor, socket?: unknown) => {
      if (message.t === "begin" || message.t === "held") balancer.setHeld(message.held ?? {}, message.waking);
      if (message.t === "begin") resolve(message.fronts);
      else if (message.t === "held") return;
      else if (socket !== undefined) servers.set(message.id, tcp.receive(socket));
    }),
  );
  send({ t: "fit" });
  await balancer.apply(await frontsToServe, servers);
  process.off("disconnect", lost);
  balancer.passIdleTimeouts = (timeouts) => process.connected && send({ t: "idle", timeouts });
  // The predecessor has ended with its last connection.
  process.once("disconnect", () => balancer.setHeld(undefined));
  send({ t: "serving", ...(await serve()) });
}

async function messageOf<T extends FromSuccessor["t"]>(
  successor: NodeJS.EventEmitter,
  type: T,
  signal: AbortSignal,
): Promise<Extract<FromSuccessor, { readonly t: T }>> {
  for await (const [message] of on(successor, "message", { signal }) as AsyncIterable<[FromSuccessor]>)
    if (message.t === type) return message as Extract<FromSuccessor, { readonly t: T }>;
  throw new Error("its messages ended");
}
