/**
 * Keeps each configuration that is applied: what was read, what it changed, who asked for it, and what became of it.
 * The entry is written before anything is done, and settled once the keeper has the commands: a new service knows by it
 * what a killed one had begun.
 */
import { basename } from "node:path";
import { compact } from "../../base/compact.ts";
import { reasonOf } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import type { Config } from "../../config/spec.ts";
import type { Caller } from "../../contract/control.ts";
import type { HistoryEntry } from "../../contract/history-record.ts";
import { isChange, type PlanRecord } from "../../contract/plan.ts";
import { HistoryStore, hashOf, type NewEntry, type StoredEntry } from "../../history/history-store.ts";
import { activeIn, isSameConfiguration, shownEntry } from "../../history/shown-history.ts";
import { failpoint } from "../../os/failpoint.ts";
import { machineMark } from "../../os/host-jitter.ts";
import type { Services } from "../services.ts";
import type { Subsystem } from "../subsystem.ts";

/** A configuration that is about to be applied. */
export type AppliedConfig = {
  readonly config: Config;
  readonly plan: PlanRecord;
  readonly why: string;
  readonly caller?: Caller | undefined;
  /** Number of the entry whose text was put back. */
  readonly rollbackTo?: number | undefined;
};

/** A release that a deployment has put in use, or has taken back. `before`: the one before it. */
export type DeployedRelease = {
  readonly release: string;
  readonly before: string | undefined;
  readonly caller: Caller;
  readonly result: "applied" | "rolled-back";
  readonly problem?: string | undefined;
};

export class ConfigHistory implements Subsystem {
  readonly store: HistoryStore;
  readonly #services: Pick<Services, "link" | "log">;
  readonly #onSettled: (entry: HistoryEntry) => void;
  /** What waits until procman has started. */
  readonly #tasks: (() => void)[] = [];
  #isFailing = false;

  constructor(services: Pick<Services, "link" | "log">, stateDir: string, onSettled: (entry: HistoryEntry) => void) {
    this.#services = services;
    this.store = new HistoryStore(stateDir);
    this.#onSettled = onSettled;
  }

  /** A reload begins. One that changes nothing leaves no entry. */
  begin({ config, plan, why, caller, rollbackTo }: AppliedConfig): void {
    this.#carryOutTasks();
    this.#try(() => {
      const isNew = !this.#isActive(config) || plan.processes.some(isChange) || plan.settings.length > 0;
      if (isNew)
        this.#add(config, {
          why,
          ...changesIn(plan),
          ...callerIn(caller),
          ...(rollbackTo !== undefined && { rollbackTo }),
        });
    });
    failpoint("service.kept");
  }

  /** A deployment is over, which has switched to another release. */
  deployed({ release, before, caller, ...outcome }: DeployedRelease): void {
    this.#carryOutTasks();
    this.#try(() => {
      const active = activeIn(this.store);
      if (active === undefined) return;
      const texts = active.entry.files.map(({ file, hash }) => ({ file, text: this.store.textOf(hash) }));
      const { profile } = active.entry;
      const number = this.#add(compact({ texts, profile }), {
        why: `deployment, asked by ${caller.consumer}`,
        ...callerIn(caller),
        release,
        ...(before !== undefined && { releaseBefore: before }),
      });
      if (number !== undefined) this.#settle(number, outcome);
    });
  }

  /** An instance has not come up; the reload is being taken back. */
  failed(problem: string): void {
    this.#try(() => {
      const number = this.#running?.number;
      if (number !== undefined) this.store.settle(number, { result: "running", problem });
    });
  }

  /** The reload is over. */
  finish(result: "applied" | "rolled-back", problem?: string): void {
    const settle = (): void => {
      const number = this.#running?.number;
      if (number !== undefined) void this.#services.link.commit().then(() => this.#settle(number, { result, problem }));
    };
    if (this.#tasks.length > 0) this.#tasks.push(settle);
    else this.#try(settle);
  }

  /**
   * At the start of a service: settles what a killed one had begun, and keeps the configuration if it is another one.
   * `plan`: what has changed since; absent: procman was started.
   */
  recover(config: Config, plan: PlanRecord | undefined): void {
    this.#tasks.push(() => this.#recover(config, plan));
    setImmediate(() => this.#carryOutTasks());
  }

  retire(): void {
    this.#tasks.length = 0;
  }

  #recover(config: Config, plan: PlanRecord | undefined): void {
    const [number = 0] = this.store.numbers;
    const newest = this.store.read(number);
    if (newest !== undefined && !("entry" in newest))
      this.#services.log.warn(`Cannot read entry ${number} of the history: ${newest.problem}`);
    const { texts } = config;
    if (newest !== undefined && "entry" in newest && newest.entry.result === "running")
      this.#settle(number, { result: isOf(newest.entry, config) ? "applied" : "interrupted" });
    if (texts === undefined || this.#isActive(config)) return;
    const why =
      plan === undefined ? "procman was started" : `${basename(config.file)} had changed when the service started`;
    this.#add(config, { why, ...(plan && changesIn(plan)) });
  }

  #carryOutTasks(): void {
    for (const task of this.#tasks.splice(0)) this.#try(task);
  }

  #isActive(config: Config): boolean {
    const active = activeIn(this.store);
    return active !== undefined && isOf(active.entry, config);
  }

  get #running(): { readonly number: number } | undefined {
    const [number = 0] = this.store.numbers;
    const newest = this.store.read(number);
    return newest !== undefined && "entry" in newest && newest.entry.result === "running" ? newest : undefined;
  }

  #add(
    { texts = [], profile }: Pick<Config, "texts" | "profile">,
    entry: Pick<NewEntry, "why"> & Partial<NewEntry>,
  ): number | undefined {
    if (texts.length === 0) return undefined;
    const machine = machineMark();
    const number = this.store.add(
      {
        time: new Date().toISOString(),
        result: "running",
        ...entry,
        ...(profile === undefined ? {} : { profile }),
        version: VERSION,
        host: process.getBuiltinModule("node:os").hostname(),
        ...(machine && { machine }),
      },
      texts,
    );
    setImmediate(() => this.#try(() => this.store.prune()));
    return number;
  }

  #settle(
    number: number,
    { result, problem }: { readonly result: StoredEntry["result"]; readonly problem?: string | undefined },
  ): void {
    this.#try(() => {
      const found = this.store.settle(number, { result, ...(problem === undefined ? {} : { problem }) });
      if (found !== undefined) this.#onSettled(shownEntry(found, result === "applied"));
    });
  }

  /** Without a history, procman goes on; the problem is said once. */
  #try(task: () => void): void {
    try {
      task();
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        this.#services.log.error(`Cannot keep the history of the configuration: ${reasonOf(error)}; procman goes on`);
      this.#isFailing = true;
    }
  }
}

function isOf(entry: StoredEntry, { texts = [], profile }: Config): boolean {
  const files = texts.map(({ file, text }) => ({ file, hash: hashOf(text) }));
  return isSameConfiguration(entry, { files, ...(profile !== undefined && { profile }) });
}

function changesIn({ processes, settings }: PlanRecord): Pick<NewEntry, "processes" | "settings"> {
  return { processes: processes.filter(isChange), ...(settings.length > 0 && { settings }) };
}

function callerIn(caller: Caller | undefined): Pick<NewEntry, "consumer" | "user" | "rollout"> {
  if (caller === undefined) return {};
  const { consumer, user, rollout } = caller;
  return compact({ consumer, user, rollout });
}
