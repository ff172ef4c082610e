/** Entry of the balancer, started by the keeper: `--socket=PATH`, or by the balancer that it succeeds: `--successor`; and of its further processes: `--mate=NUMBER`. It outlives both keeper and service. */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { VERSION } from "../base/version.ts";
import type { BalancerIdentity, FromBalancer } from "../contract/balancer-protocol.ts";
import type { BalancerWord } from "../contract/keeper-protocol.ts";
import { processStat } from "../os/process-stat.ts";
import { takeRevival } from "../os/revival.ts";
import { holdYoungGeneration } from "../os/v8-flags.ts";
import { Balancer } from "./balancer.ts";
import { type FromMate, Mate, type ToMate } from "./crew.ts";
import { Desk, othersAt } from "./desk.ts";
import { Arrivals, give, type Send } from "./moving.ts";
import type { Handle } from "./sockets.ts";
import { handOver, takeOver, type Wish } from "./succession.ts";
import { Worker } from "./worker.ts";

/** More share a listening socket well, but the fourth already finds little to do. */
const MOST_PROCESSES = 4;

const { values: options } = parseArgs({
  options: {
    socket: { type: "string", default: "" },
    mate: { type: "string" },
    processes: { type: "string" },
    successor: { type: "boolean", default: false },
  },
});
const file = typeof __filename === "undefined" ? fileURLToPath(import.meta.url) : __filename;
process.title = "procman: balancer";
// Keepers are called for by service and logger.
takeRevival();
holdYoungGeneration();
// Sent to a whole group or session, these are meant for others.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
if (options.mate === undefined) void lead();
else follow(Number(options.mate));

async function lead(): Promise<void> {
  const identity = { pid: process.pid, startTime: processStat(process.pid)?.startTime ?? "", version: VERSION };
  const other = options.successor ? undefined : await othersAt(options.socket);
  // A keeper was killed before it had written down that it started one.
  if (other !== undefined) return leave({ t: "other", pid: other.pid, startTime: other.startTime });
  const changed = (): void => {
    desk?.tell();
    balancer.even();
  };
  const count = Number(options.processes ?? Math.min(MOST_PROCESSES, availableParallelism()));
  const mates = Array.from({ length: count - 1 }, (_, index) => new Mate(file, index + 1, changed));
  const balancer = new Balancer(new Worker(0, changed), mates, changed);
  let desk: Desk | undefined;
  const serve = async (): Promise<BalancerIdentity> => {
    desk = deskOf(balancer, identity);
    await desk.opened;
    return identity;
  };
  process.on("SIGTERM", () => {
    desk?.close();
    void balancer.close().then(() => process.exit(0));
  });
  if (options.successor) await takeOver(balancer, serve);
  else await serve();
}

function deskOf(balancer: Balancer, identity: BalancerIdentity): Desk {
  let handing: Promise<FromBalancer> | undefined;
  const desk = new Desk({
    path: options.socket,
    hello: { t: "hello", ...identity },
    receive: async (fronts) => {
      // Whoever asks now is answered by the one that serves then.
      if ((await handing)?.t === "succeeded") await new Promise(() => undefined);
      await balancer.apply(fronts);
    },
    succeed: async (wish) => {
      handing ??= succeededBy(wish);
      const answer = await handing;
      if (answer.t !== "succeeded") handing = undefined;
      return answer;
    },
    report: () => balancer.report,
    abandoned: () => process.exit(0),
  });
  const succeededBy = async (wish: Wish): Promise<FromBalancer> => {
    try {
      await balancer.unbind();
      const successor = await handOver(wish, () => balancer.estate);
      setImmediate(() => void retire(balancer, desk));
      return { t: "succeeded", pid: successor.pid, startTime: successor.startTime, version: successor.version };
    } catch (error) {
      return { t: "unsucceeded", problem: (error as Error).message };
    }
  };
  return desk;
}

/** Ends with its last client. Where nobody serves any more, everything was stopped. */
async function retire(balancer: Balancer, desk: Desk): Promise<void> {
  desk.leave();
  await balancer.retire(() => !existsSync(options.socket));
  process.exit(0);
}

function leave(word: BalancerWord): void {
  if (process.send === undefined) process.exit(0);
  process.send([word], () => process.exit(0));
}

function follow(turn: number): void {
  const say = (message: FromMate): void => void process.send?.(message);
  const report = (): void => say({ t: "report", reports: worker.reports, clients: worker.clients, load: worker.load });
  const worker = new Worker(turn, report);
  const arrivals = new Arrivals();
  const send: Send = (half, socket) =>
    new Promise((resolve) => process.send?.(half, socket as never, {}, (error) => resolve(error === null)));
  process.on("message", (message: ToMate, socket?: Handle) => {
    switch (message.t) {
      case "fronts":
        return void worker.apply(message.fronts).then(() => say({ t: "applied", serial: message.serial }));
      case "listen":
        return void worker.listen(message.id, socket as Handle);
      case "unlisten":
        return worker.unlisten(message.id);
      case "give":
        return void give(worker.busyPairs, message.count, send).then(() => say({ t: "applied", serial: message.serial }));
      case "client":
      case "backend": {
        const sockets = arrivals.add(message, socket);
        return sockets === undefined ? undefined : worker.adopt(message, sockets);
      }
      case "close":
      case "retire":
        worker[message.t]();
        report();
        return say({ t: "applied", serial: message.serial });
      default:
        return message satisfies never;
    }
  });
  process.on("SIGTERM", () => undefined);
  // Without the first one nobody would free the port.
  process.on("disconnect", () => process.exit(0));
}
