/**
 * Commands with the surroundings of a process (`procman exec`). Those of the API are children of the service; those on
 * a terminal are started by `procman exec` itself. Each has a marker that names its owner, the process that has started
 * it; when the owner has ended, what is left of the command is ended, too, also by a later service.
 */
import { ProcmanError } from "../../base/errors.ts";
import { duration } from "../../base/quantity.ts";
import { RunMarkers } from "../../base/run-marker.ts";
import { shellArgv } from "../../config/executed-command.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import { type Caller, callerText } from "../../contract/control.ts";
import {
  bytesOf,
  type ExecInput,
  type ExecItem,
  type ExecLaunch,
  type ExecOrder,
  type Executor,
  type LaunchOrder,
} from "../../contract/execution.ts";
import { isCollective, selectorsIn, unknownProcess } from "../../contract/groups.ts";
import type { RunKey } from "../../ipc/keeper-protocol.ts";
import { type StopSteps, stepsTo } from "../../os/process-signal.ts";
import { isAlive, processStat } from "../../os/process-stat.ts";
import { markedProcesses } from "../../os/process-tree.ts";
import { unlessShort } from "../../os/shortage.ts";
import type { SignalName } from "../../supervisor/states.ts";
import { info, warn } from "../log-line.ts";
import type { Services } from "../services.ts";
import type { Subsystem } from "../subsystem.ts";
import type { AccessOfProcess } from "./environment.ts";
import { launchOf } from "./exec-launch.ts";
import { HostedCommand } from "./hosted-command.ts";
import { Sweeper } from "./sweeper.ts";

/** Interval at which the owners of commands are looked at. Milliseconds. */
const POLL_MS = 500;
/** A new service looks for commands of the previous one after this time, when the processes run. Milliseconds. */
const LOOK_MS = 2_000;
/** For commands of processes that were removed meanwhile. Milliseconds. */
const TERMINATE_MS = 30_000;

/** The process that has started a command. */
type Owner = { readonly pid: number; readonly startTime: string };

type ExecSession = RunKey & {
  readonly id: string;
  readonly owner: Owner;
  /** A command of the service. */
  readonly hosted?: HostedCommand;
  ended?: Promise<void>;
};

/** `line`: for the shell. `timeoutMs` 0: no limit. */
export type OwnCommand = {
  readonly line: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};

/** The most that a timer takes. Milliseconds. */
const LONGEST_MS = 2 ** 31 - 1;

export class ExecSessions implements Subsystem {
  readonly #services: Pick<Services, "log" | "specs">;
  readonly #accessOf: AccessOfProcess;
  readonly #markers: RunMarkers;
  readonly #sweeper: Sweeper;
  readonly #own: Owner = { pid: process.pid, startTime: processStat(process.pid)?.startTime ?? "" };
  /** By marker. */
  readonly #sessions = new Map<string, ExecSession>();
  /** Commands of the service, by the name of their session. */
  readonly #hosted = new Map<string, HostedCommand>();
  #lastNumber = 0;
  #polling: NodeJS.Timeout | undefined;
  #looking: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(services: Pick<Services, "log" | "specs">, accessOf: AccessOfProcess) {
    this.#services = services;
    this.#accessOf = accessOf;
    this.#markers = new RunMarkers(services.specs.config.stateDir, "", "PROCMAN_EXEC_ID");
    this.#sweeper = new Sweeper(this.#markers);
  }

  /** `key`: of the markers of runs. `isFirst`: no command of an earlier service can be left. */
  load(key: string, isFirst: boolean): void {
    this.#markers.key = key;
    if (!isFirst) this.#looking = setTimeout(() => this.#look(), LOOK_MS).unref();
  }

  /** procman ends. */
  end(): void {
    this.#isEnding = true;
    for (const session of this.#sessions.values()) void this.#end(session);
  }

  async stopped(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => this.#end(session)));
  }

  /** Another service takes over, which finds the commands. */
  retire(): void {
    clearTimeout(this.#looking);
    clearInterval(this.#polling);
    this.#sweeper.stop();
  }

  /** For a caller. */
  executor(caller: Caller): Executor {
    return {
      execute: (id, order, signal) => this.#execute(caller, { id, order }, signal),
      write: async (session, input) => this.#write(session, input),
      launch: async (id, order) => this.#launch(caller, id, order),
    };
  }

  /**
   * A command line of procman itself, with user, environment and limits of a process, but in another folder, and without
   * input. What is left of commands of earlier services is ended first.
   *
   * @throws Error with the problem
   */
  async run(
    spec: ProcessSpec,
    { line, cwd, env, timeoutMs, signal }: OwnCommand,
    onOutput: (chunk: Uint8Array) => void,
  ): Promise<void> {
    await this.#clear();
    signal.throwIfAborted();
    const key = this.#newKey(spec.id, this.#own);
    const launch = this.#launchOf({ ...spec, cwd }, { command: shellArgv(line), key });
    const hosted = new HostedCommand({ ...launch, env: { ...launch.env, ...env } }, "");
    const session = this.#add({ ...key, id: spec.id, owner: this.#own, hosted });
    let isLate = false;
    const end = (): void => void this.#end(session).then(() => hosted.swept());
    const limit = setTimeout(() => {
      isLate = true;
      end();
    }, timeoutMs || LONGEST_MS).unref();
    signal.addEventListener("abort", end, { once: true });
    void hosted.exit.then(end);
    try {
      for await (const chunk of hosted.output()) onOutput(bytesOf(chunk));
      const ending = await hosted.exit;
      await session.ended;
      signal.throwIfAborted();
      if (isLate) throw new Error(`did not end within ${duration(timeoutMs)}, and was ended`);
      if (ending.code !== 0)
        throw new Error(ending.code === undefined ? `was ended by ${ending.signal}` : `ended with code ${ending.code}`);
    } finally {
      clearTimeout(limit);
      signal.removeEventListener("abort", end);
      hosted.close();
    }
  }

  /** Resolves when nothing is left of the commands of earlier services. */
  async #clear(): Promise<void> {
    if (this.#looking !== undefined) this.#look();
    const others = [...this.#sessions.values()].filter(({ owner }) => !isAlive(owner.pid, owner.startTime));
    await Promise.all(others.map((session) => this.#end(session)));
  }

  async *#execute(
    caller: Caller,
    { id, order }: { readonly id: string; readonly order: ExecOrder },
    signal: AbortSignal,
  ): AsyncGenerator<ExecItem> {
    const { command, stdin } = order;
    const spec = this.#admit(caller, id, command);
    const key = this.#newKey(spec.id, this.#own);
    const hosted = new HostedCommand(this.#launchOf(spec, { command, key }), stdin);
    const session = this.#add({ ...key, id: spec.id, owner: this.#own, hosted });
    const name = `${spec.id}.${this.#own.pid}.${key.run}`;
    this.#hosted.set(name, hosted);
    const end = (): void => void this.#end(session).then(() => hosted.swept());
    void hosted.exit.then(end);
    signal.addEventListener("abort", end, { once: true });
    try {
      yield { type: "started", process: spec.id, session: name };
      if (signal.aborted) end();
      yield* hosted.output();
      yield await hosted.exit;
    } finally {
      this.#hosted.delete(name);
      hosted.close();
      end();
    }
  }

  async #write(name: string, input: ExecInput): Promise<void> {
    const hosted = this.#hosted.get(name);
    const shown = JSON.stringify(name.slice(0, 120));
    if (hosted === undefined)
      throw new ProcmanError("exec-unknown", `Cannot write to the command ${shown}: it isn't running`);
    await hosted.write(input, shown);
  }

  #launch(caller: Caller, id: string, { command, pid, startTime, niceness }: LaunchOrder): ExecLaunch {
    const spec = this.#admit(caller, id, command);
    const owner = { pid, startTime };
    const key = this.#newKey(spec.id, owner);
    const launch = this.#launchOf(spec, { command, key, niceness });
    this.#add({ ...key, id: spec.id, owner });
    return launch;
  }

  #launchOf(
    spec: ProcessSpec,
    {
      command,
      key,
      niceness,
    }: { readonly command: readonly string[]; readonly key: RunKey; readonly niceness?: number },
  ): ExecLaunch {
    const { config } = this.#services.specs;
    const marker = this.#markers.of(key.slot, key.run);
    const priority = niceness === undefined ? {} : { niceness };
    return launchOf(spec, { config, command, marker, ...priority, access: this.#accessOf(spec.id) });
  }

  #newKey(id: string, { pid, startTime }: Owner): RunKey {
    this.#lastNumber += 1;
    return { slot: `${id}/${pid}/${startTime.replaceAll(" ", "_")}`, run: this.#lastNumber };
  }

  /** The process, if the caller may execute commands; with an audit line, without the arguments, which may be secret. */
  #admit(caller: Caller, id: string, [program = "", ...args]: readonly string[]): ProcessSpec {
    const { log } = this.#services;
    const what = `exec of ${JSON.stringify(program.slice(0, 200))}${argumentCount(args.length)}`;
    try {
      this.#checkRight(caller);
      const spec = this.#find(id);
      log.audit(info(`${what} for ${callerText(caller)}`), spec.id);
      return spec;
    } catch (error) {
      if (error instanceof ProcmanError)
        log.audit(
          warn(`${what} in ${JSON.stringify(id.slice(0, 80))} for ${callerText(caller)}: refused: ${error.message}`),
        );
      throw error;
    }
  }

  /** @throws {ProcmanError} `scope-missing`, `exec-refused`, `service-down` */
  #checkRight({ limits, isOwner }: Caller): void {
    if (limits !== undefined)
      throw new ProcmanError(
        "scope-missing",
        'Cannot execute a command: the token is limited to some processes; "procman token --consumer NAME --scope admin" creates one that isn\'t',
      );
    if (isOwner !== true && this.#services.specs.config.api.exec !== true)
      throw new ProcmanError(
        "exec-refused",
        'Cannot execute a command: "api.exec" is not true in the configuration; set it, and run "procman reload"',
      );
    if (this.#isEnding) throw new ProcmanError("service-down", "Cannot execute a command: procman is ending");
  }

  /** A process or an instance; of a cluster its first instance. @throws {ProcmanError} `process-unknown`, `input-invalid` */
  #find(id: string): ProcessSpec {
    const { specs } = this.#services;
    const { processes } = specs.config;
    const found = specs.configured(id) ?? processes.find(({ cluster }) => cluster?.id === id);
    if (found !== undefined) return found;
    if (isCollective(id))
      throw new ProcmanError("input-invalid", `Cannot execute a command in "${id}": it is not one process; name one`, {
        faults: [{ place: "path", message: "must be the id of a process" }],
      });
    const known = processes.flatMap((each) => [each.cluster?.id ?? each.id, each.id]);
    throw unknownProcess(id, new Set(known), selectorsIn(processes));
  }

  #add(session: ExecSession): ExecSession {
    this.#sessions.set(keyOf(session), session);
    this.#polling ??= setInterval(() => this.#poll(), POLL_MS).unref();
    return session;
  }

  /** Ends what is left of commands whose owners have ended. */
  #poll(): void {
    for (const session of this.#sessions.values())
      if (session.owner.pid !== this.#own.pid && !isAlive(session.owner.pid, session.owner.startTime))
        void this.#end(session);
    if (this.#sessions.size > 0) return;
    clearInterval(this.#polling);
    this.#polling = undefined;
  }

  /** Finds the commands that were started with an earlier service. */
  #look(): void {
    const uidOf = (slot: string): number | undefined => this.#services.specs.find(partsOf(slot).id)?.user?.uid;
    const found = unlessShort(() => markedProcesses(this.#markers, uidOf));
    if (found === undefined) this.#looking = setTimeout(() => this.#look(), LOOK_MS).unref();
    for (const { slot, run } of found ?? []) {
      const { id, owner } = partsOf(slot);
      if (!this.#sessions.has(keyOf({ slot, run }))) this.#add({ slot, run, id, owner });
    }
    this.#poll();
  }

  /** Ends what is left of a command: members of its process group, and carriers of its marker. Never rejects. */
  #end(session: ExecSession): Promise<void> {
    session.ended ??= this.#sweep(session).then(() => void this.#sessions.delete(keyOf(session)));
    return session.ended;
  }

  async #sweep(session: ExecSession): Promise<void> {
    const { terminateMs = TERMINATE_MS } = this.#services.specs.find(session.id)?.policy ?? {};
    const isTold = (await session.hosted?.stop(terminateMs)) ?? false;
    const left = await this.#sweepLeft(session, isTold ? { SIGTERM: 0, SIGKILL: terminateMs } : stepsTo(terminateMs));
    if (left > 0)
      this.#services.log.write(undefined, warn(`${left} processes of a command in ${session.id} can't be ended`));
  }

  /** `steps`: milliseconds until each signal. Resolves with the number of processes that can't be ended. */
  #sweepLeft({ slot, run, id, hosted }: ExecSession, steps: StopSteps): Promise<number> {
    const uid = this.#services.specs.find(id)?.user?.uid;
    const target = { slot, run, pid: hosted?.pid ?? 0, ...(uid !== undefined && { uid }) };
    return new Promise((resolve) => {
      const done = (left: number): void => {
        for (const timer of timers) clearTimeout(timer);
        resolve(left);
      };
      const timers = Object.entries(steps).map(([signal, ms]) =>
        setTimeout(() => this.#sweeper.sweep(target, signal as SignalName, done), ms),
      );
    });
  }
}

/** The arguments may be secret. */
function argumentCount(count: number): string {
  return count === 0 ? "" : ` with ${count} argument${count === 1 ? "" : "s"}`;
}

function keyOf({ slot, run }: RunKey): string {
  return `${slot}.${run}`;
}

/** The parts of a slot from `#newKey`; no id has a slash. */
function partsOf(slot: string): { readonly id: string; readonly owner: Owner } {
  const [id = "", pid, startTime = ""] = slot.split("/");
  return { id, owner: { pid: Number(pid), startTime: startTime.replaceAll("_", " ") } };
}
