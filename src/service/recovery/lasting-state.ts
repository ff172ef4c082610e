/** What outlives a shutdown, a reboot and a kill of every part: one file in the state folder, replaced as a whole. */
import { join } from "node:path";
import { isNotThere } from "../../base/errors.ts";
import { integer, list, map, openObject, optional, string, type TypeOf } from "../../base/schema.ts";
import { matches } from "../../base/schema-check.ts";
import { readWhole, writeWhole } from "../../os/careful-files.ts";
import type { ProcessDefinition } from "../../supervisor/definition.ts";
import type { LastingRequests } from "../../supervisor/process-ports.ts";
import type { Subsystem } from "../subsystem.ts";

const schema = openObject({
  /** By process, the next start of a schedule whose missed times are made up for. */
  plans: map(openObject({ cron: string(), timeZone: optional(string()), planned: integer({ minimum: 0 }) })),
  /** Ids of the processes that start only by request. */
  disabled: optional(list(string())),
});

type Content = TypeOf<typeof schema>;

export class LastingState implements LastingRequests, Subsystem {
  readonly #path: string;
  readonly #report: (problem: string) => void;
  #content: Content = { plans: {} };
  #written = this.#content;
  #isQueued = false;
  #hasFailed = false;

  constructor(stateDir: string, report: (problem: string) => void) {
    this.#path = join(stateDir, "lasting.json");
    this.#report = report;
  }

  /** Reads the file, once the state folder is locked. `ids`: all processes of the configuration; others are forgotten. */
  load(ids: readonly string[]): void {
    try {
      const value: unknown = JSON.parse(readWhole(this.#path).toString());
      if (matches(value, schema)) this.#content = this.#written = value;
      else this.#report(`Cannot use ${this.#path}: it is damaged or of another version; ignoring it`);
    } catch (error) {
      if (!isNotThere(error)) this.#report(`Cannot use ${this.#path}: ${(error as Error).message}; ignoring it`);
    }
    const known = new Set(ids);
    for (const id of [...Object.keys(this.#content.plans), ...this.#disabled]) if (!known.has(id)) this.forget(id);
  }

  get #disabled(): readonly string[] {
    return this.#content.disabled ?? [];
  }

  isDisabled(id: string): boolean {
    return this.#disabled.includes(id);
  }

  setDisabled(id: string, isDisabled: boolean): void {
    const others = this.#disabled.filter((each) => each !== id);
    this.#change({ ...this.#content, disabled: isDisabled ? [...others, id] : others });
  }

  plannedStart({ id, cron, timeZone, catchUp }: ProcessDefinition): number | undefined {
    const plan = Object.hasOwn(this.#content.plans, id) ? this.#content.plans[id] : undefined;
    return catchUp && plan?.cron === cron && plan?.timeZone === timeZone ? plan?.planned : undefined;
  }

  planStart({ id, cron = "", timeZone }: ProcessDefinition, planned: number): void {
    const before = this.#content.plans[id];
    if (before?.planned === planned && before.cron === cron && before.timeZone === timeZone) return;
    const plan = { cron, planned, ...(timeZone === undefined ? {} : { timeZone }) };
    this.#change({ ...this.#content, plans: { ...this.#content.plans, [id]: plan } });
  }

  forget(id: string): void {
    if (this.isDisabled(id)) this.setDisabled(id, false);
    if (!Object.hasOwn(this.#content.plans, id)) return;
    const { [id]: _, ...plans } = this.#content.plans;
    this.#change({ ...this.#content, plans });
  }

  /** What could not be written before is written now. */
  stopped(): void {
    this.#write();
  }

  /** The changes of a turn are written together. */
  #change(content: Content): void {
    if (!this.#isQueued) queueMicrotask(() => this.#write());
    this.#isQueued = true;
    this.#content = content;
  }

  #write(): void {
    this.#isQueued = false;
    if (this.#written === this.#content) return;
    try {
      writeWhole(this.#path, `${JSON.stringify(this.#content)}\n`);
      this.#written = this.#content;
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#report(`Cannot write ${this.#path}: ${(error as Error).message}; it is tried again with the next change`);
      this.#hasFailed = true;
    }
  }
}
