/** The composition root of the service: configuration in, supervised processes out. */
import { isatty } from "node:tty";
import { VERSION } from "../base/version.ts";
import type { Config, ProcessSpec } from "../config/spec.ts";
import { type FromKeeper, PROTOCOL } from "../contract/keeper-protocol.ts";
import type { ConsoleStyle, FromLogger } from "../contract/logger-protocol.ts";
import { processStat } from "../os/process-stat.ts";
import { systemClock } from "../runtime/clock.ts";
import { markerOf } from "../runtime/environment.ts";
import type { Link } from "../runtime/link.ts";
import { KeeperSpawner } from "../runtime/spawner.ts";
import { Sweeper } from "../runtime/sweeper.ts";
import type { Memory, Plan } from "../supervisor/process.ts";
import type { Transition } from "../supervisor/slot.ts";
import { Supervisor } from "../supervisor/supervisor.ts";
import { ServiceControl } from "./control.ts";
import { captureOf, launchOf, whyUnstartable } from "./launch.ts";
import { type Line, narrate, narrateNotice } from "./narrator.ts";
import { keepPidFile } from "./pid-file.ts";
import { announce, keepSecret, secretIn, withdraw } from "./presence.ts";

/** The API's parts are loaded this long after the first processes were asked for. Milliseconds. */
const API_DELAY_MS = 300;

export class Service {
  readonly config: Config;
  /** Milliseconds since 1970. */
  readonly startedAt = Date.now();
  /** Pid of the keeper. */
  readonly keeper = process.ppid;
  readonly #link: Link;
  readonly #specs: ReadonlyMap<string, ProcessSpec>;
  readonly #spawner: KeeperSpawner;
  readonly supervisor: Supervisor;
  /** Puts secret and endpoint into the state folder (again). */
  #presence: (() => void) | undefined;
  #terminating = false;

  constructor(config: Config, link: Link) {
    this.config = config;
    this.#link = link;
    this.#specs = new Map(config.processes.map((spec) => [spec.id, spec]));
    const marker = (slot: string, run: number): string => markerOf(slot, run, config.stateDir);
    this.#spawner = new KeeperSpawner({
      link,
      sweeper: new Sweeper(),
      marker,
      request: (slot, run) => launchOf(this.spec(slot), { stateDir: config.stateDir, marker: marker(slot, run) }),
      whyUnstartable: (failed) => whyUnstartable(this.spec(failed.slot), failed),
    });
    this.supervisor = new Supervisor({
      clock: systemClock,
      spawner: this.#spawner,
      publish: (transition) => this.#onTransition(transition),
      notice: (id, notice) => this.#say(id, narrateNotice(notice)),
    });
  }

  get isTerminating(): boolean {
    return this.#terminating;
  }

  /** Asks the keeper for the state folder; everything else follows its snapshot. */
  open(): void {
    const captures = this.config.processes.filter((spec) => spec.autostart && captureOf(spec) !== undefined).length;
    this.#link.send({ t: "open", protocol: PROTOCOL, version: VERSION, stateDir: this.config.stateDir, captures });
    this.#link.send({ t: "logger", message: { t: "style", style: consoleStyle(this.config) } });
    this.#link.flush();
  }

  receive(message: Exclude<FromKeeper, { readonly t: "refused" }>): void {
    switch (message.t) {
      case "snapshot":
        return this.#begin(message);
      case "spawned":
      case "exited":
      case "failed":
        return this.#spawner.receive(message);
      case "logger":
        return this.#onLogger(message.message);
      case "stop":
        return void this.terminate(message.signal);
      case "ping":
        return this.#link.send({ t: "pong" });
      case "aside":
        return;
      case "renewed":
        return this.#presence?.();
      case "signalled":
        return this.#say(undefined, { severity: "info", text: `${message.signal} does nothing yet` });
      default:
        return message satisfies never;
    }
  }

  /** Stops everything in reverse order of start; the keeper ends when that is done. */
  async terminate(why: string): Promise<void> {
    this.#link.send({ t: "stopping" });
    if (this.#terminating) return;
    this.#terminating = true;
    this.#say(undefined, { severity: "info", text: `stopping everything (${why})` });
    await this.supervisor.stopAll();
    withdraw(this.config.stateDir);
    this.#say(undefined, { severity: "info", text: "everything is stopped" });
    this.#link.sendLater({ t: "end", code: 0 });
  }

  #begin(snapshot: FromKeeper & { readonly t: "snapshot" }): void {
    this.#spawner.load(snapshot);
    const memories = new Map(Object.entries(snapshot.notes).map(([id, note]) => [id, JSON.parse(note) as Memory]));
    this.supervisor.apply(this.config.processes.map(planOf), memories);
    this.#spawner.tellAdopted();
    this.#link.flush();
    // After the first processes: nobody asks before they run.
    setTimeout(() => void this.#serve(), API_DELAY_MS);
  }

  /** Supervision goes on without an API. */
  async #serve(): Promise<void> {
    const { stateDir, name, api } = this.config;
    try {
      const [{ serveApi }] = await Promise.all([import("../api/server.ts"), import("../contract/token.ts")]);
      const secret = secretIn(stateDir);
      const { port } = await serveApi({
        control: new ServiceControl(this),
        hostname: api.hostname,
        port: api.port ?? 0,
        secret,
        audience: name,
        revoked: api.revoked,
      });
      const startTime = processStat(process.pid)?.startTime ?? "";
      const endpoint = { hostname: api.hostname, port, pid: process.pid, startTime, keeper: this.keeper, version: VERSION };
      this.#presence = () => {
        keepSecret(stateDir, secret);
        announce(stateDir, endpoint);
      };
      this.#presence();
    } catch (error) {
      this.#say(undefined, {
        severity: "error",
        text: `Cannot serve the API at ${api.hostname}${api.port === undefined ? "" : `:${api.port}`}: ${(error as Error).message}; processes run on`,
      });
    }
  }

  /** Of a process or one of its slots. */
  spec(slot: string): ProcessSpec {
    const spec = this.#specs.get(processOf(slot));
    if (spec === undefined) throw new Error(`no specification for slot ${slot}`);
    return spec;
  }

  #onTransition(transition: Transition): void {
    const { slot, from, to } = transition;
    const spec = this.spec(slot);
    const problem = spec.pidFile === undefined ? undefined : keepPidFile(spec.pidFile, from, to);
    if (problem !== undefined) this.#say(slot, { severity: "warn", text: problem });
    const line = narrate(transition, { policy: spec.policy, blocked: this.supervisor.find(spec.id).isBlocked });
    if (line !== undefined) this.#say(slot, line);
  }

  #onLogger(message: Extract<FromLogger, { readonly t: "problem" | "recovered" }> | FromLogger): void {
    if (message.t === "problem")
      this.#say(undefined, {
        severity: "error",
        text: `${message.message}; processes run on`,
      });
    if (message.t === "recovered")
      this.#say(undefined, {
        severity: "warn",
        text: `${message.file} can be written again; ${message.lostLines === 0 ? "no line was lost" : `${message.lostLines} lines (${message.lostBytes} bytes) were lost`}`,
      });
  }

  #say(id: string | undefined, { severity, text }: Line): void {
    this.#link.sendLater({ t: "logger", message: { t: "say", at: Date.now(), severity, text, ...(id === undefined ? {} : { id }) } });
  }
}

/** Colours are for terminals (https://no-color.org, https://force-color.org). */
function consoleStyle({ console: { decorate, colors } }: Config): ConsoleStyle {
  return { decorate, colors: colors && (isatty(1) || !!process.env.FORCE_COLOR) && !process.env.NO_COLOR };
}

/** `web:2` is a further slot of `web`, for runs that overlap. */
function processOf(slot: string): string {
  return slot.split(":", 1)[0] as string;
}

function planOf({ id, policy, autostart, overrun, cron, terminate, watch }: ProcessSpec): Plan {
  return {
    id,
    policy,
    overrun,
    autostart: autostart || watch.length > 0,
    ...(cron === undefined ? {} : { cron }),
    ...(terminate === undefined ? {} : { terminate }),
  };
}
