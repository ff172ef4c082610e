/**
 * Entry of the balancer, which outlives keeper and service. The keeper starts it with `--socket=PATH`; at an upgrade
 * the previous balancer starts it, with `--successor` as well. `--worker=NUMBER --tcp=NAME --socket=PATH`: one of its
 * further processes.
 */
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { VERSION } from "../base/version.ts";
import type { BalancerIdentity, FromBalancer } from "../ipc/balancer-protocol.ts";
import type { BalancerReportMessage } from "../ipc/keeper-protocol.ts";
import { stateDirBy } from "../os/balancer-socket.ts";
import { printError } from "../os/error-output.ts";
import { takeFailoverOrder } from "../os/keeper-failover.ts";
import { holdYoungGeneration } from "../os/node-tuning.ts";
import { setTitle } from "../os/part-title.ts";
import { processStat } from "../os/process-stat.ts";
import { leaveFolder } from "../os/start-folder.ts";
import { Balancer } from "./balancer.ts";
import { ControlServer, probeExisting } from "./control-socket.ts";
import { type HandoffRequest, handOver, takeOver } from "./handoff.ts";
import { endFormers, endFormerWorkers, forgetWorkers, recordFormer, recordWorkers } from "./noted-processes.ts";
import { MigrationReceiver, migrate, type SendHalf } from "./rebalancer.ts";
import { chooseTcp, tcpOf } from "./tcp-choice.ts";
import type { Tcp, TcpHandle } from "./tcp-handle.ts";
import { Worker } from "./worker.ts";
import { type FromWorker, type ToWorker, WorkerProcess } from "./worker-process.ts";

/** Already a fourth process on one listening socket finds little to do. */
const MAX_PROCESSES = 4;

const { values: options } = parseArgs({
  options: {
    socket: { type: "string", default: "" },
    worker: { type: "string" },
    tcp: { type: "string", default: "" },
    processes: { type: "string" },
    successor: { type: "boolean", default: false },
  },
});
const file = typeof __filename === "undefined" ? fileURLToPath(import.meta.url) : __filename;
setTitle("balancer", stateDirBy(options.socket));
leaveFolder();
// Not used here: a killed keeper is replaced by service or logger.
takeFailoverOrder();
holdYoungGeneration();
// Sent to a whole group or session, these are not meant for the balancer.
for (const signal of ["SIGINT", "SIGHUP"] as const) process.on(signal, () => undefined);
if (options.worker === undefined) void runFirst();
else runWorker(Number(options.worker), tcpOf(options.tcp));

async function runFirst(): Promise<void> {
  const identity = { pid: process.pid, startTime: processStat(process.pid)?.startTime ?? "", version: VERSION };
  const existing = options.successor ? undefined : await probeExisting(options.socket);
  // A keeper was killed between starting a balancer and recording it.
  if (existing !== undefined) return exitWith({ t: "other", pid: existing.pid, startTime: existing.startTime });
  if (!options.successor) endFormerWorkers(options.socket);
  const { tcp, problem } = await chooseTcp(process.env.PROCMAN_BALANCER_TCP);
  if (problem !== undefined) printError(`the load balancer uses node:net, which is slower: ${problem}`, "warn");
  const changed = (): void => {
    control?.report();
    balancer.onReport();
  };
  const count = Number(options.processes ?? Math.min(MAX_PROCESSES, availableParallelism()));
  const others = Array.from(
    { length: count - 1 },
    (_, index) =>
      new WorkerProcess({ file, number: index + 1, tcp: tcp.name, socket: options.socket }, changed, () => record()),
  );
  const record = (): void =>
    recordWorkers(
      options.socket,
      others.flatMap(({ pid }) => pid ?? []),
    );
  if (others.length > 0) record();
  const balancer = new Balancer(tcp, new Worker(tcp, 0, changed), others, changed);
  let control: ControlServer | undefined;
  const serve = async (): Promise<BalancerIdentity> => {
    if (options.successor) recordFormer(options.socket, process.ppid);
    control = controlServer(balancer, identity);
    await control.opened;
    return identity;
  };
  process.on("SIGTERM", () => {
    control?.close();
    void Promise.all([balancer.close(), endFormers(options.socket)]).then(() => {
      forgetWorkers(options.socket);
      process.exit(0);
    });
  });
  if (options.successor) await takeOver(tcp, balancer, serve);
  else await serve();
}

function controlServer(balancer: Balancer, identity: BalancerIdentity): ControlServer {
  let handoff: Promise<FromBalancer> | undefined;
  const control = new ControlServer({
    path: options.socket,
    hello: { t: "hello", ...identity },
    apply: async (fronts) => {
      // After a handoff the successor answers.
      if ((await handoff)?.t === "succeeded") await new Promise(() => undefined);
      await balancer.apply(fronts);
    },
    handOff: async (request) => {
      handoff ??= handOff(request);
      const answer = await handoff;
      if (answer.t !== "succeeded") handoff = undefined;
      return answer;
    },
    report: () => balancer.report,
    abandoned: () => process.exit(0),
  });
  const handOff = async (request: HandoffRequest): Promise<FromBalancer> => {
    try {
      const successor = await handOver(request, balancer);
      setImmediate(() => void retire(balancer, control));
      return { t: "succeeded", pid: successor.pid, startTime: successor.startTime, version: successor.version };
    } catch (error) {
      return { t: "unsucceeded", problem: (error as Error).message };
    }
  };
  return control;
}

/** Ends with its last client. When the socket file is gone procman was stopped, and clients have limited time. */
async function retire(balancer: Balancer, control: ControlServer): Promise<void> {
  control.release();
  await balancer.retire(() => !existsSync(options.socket));
  process.exit(0);
}

function exitWith(message: BalancerReportMessage): void {
  if (process.send === undefined) process.exit(0);
  process.send([message], () => process.exit(0));
}

/**
 * A further process ends with the first one, so that the port is free. `disconnect` isn't emitted while a socket is on
 * its way to that (seen on 20.20).
 */
function endIfAlone(): void {
  if (!process.connected) process.exit(0);
}

function runWorker(number: number, tcp: Tcp): void {
  const send = (message: FromWorker): void => void process.send?.(message, undefined, {}, endIfAlone);
  const report = (): void => send({ t: "report", reports: worker.reports, clients: worker.clients, load: worker.load });
  const worker = new Worker(tcp, number, report);
  const receiver = new MigrationReceiver();
  const sendHalf: SendHalf = (half, socket) =>
    new Promise((resolve) => process.send?.(half, socket as never, {}, (error) => resolve(error === null)));
  process.on("message", (message: ToWorker, socket?: TcpHandle) => {
    switch (message.t) {
      case "fronts":
        return void worker.apply(message.fronts).then(() => {
          if (message.fronts.some(({ asleep }) => asleep)) report();
          send({ t: "applied", serial: message.serial });
        });
      case "listen":
        return socket === undefined
          ? send({ t: "no-socket", id: message.id })
          : void worker.listen(message.id, tcp.receive(socket));
      case "unlisten":
        return worker.unlisten(message.id);
      case "elsewhere":
        return worker.setElsewhere(message.id, message.counts);
      case "idle":
        return worker.setIdleTimeouts(message.timeouts);
      case "migrate":
        return void migrate(worker.busyConnections, message.count, sendHalf).then(() =>
          send({ t: "applied", serial: message.serial }),
        );
      case "client":
      case "backend": {
        const sockets = receiver.add(message, socket);
        return sockets === undefined ? undefined : worker.adopt(message, sockets);
      }
      case "close":
      case "retire":
        worker[message.t]();
        report();
        return send({ t: "applied", serial: message.serial });
      default:
        return message satisfies never;
    }
  });
  process.on("SIGTERM", () => undefined);
  process.on("disconnect", endIfAlone);
}
