/**
 * This host's part of a rollout over several hosts: one at a time, on the disk, so that another client may go on with it.
 * The client says which step is next; the service carries it out, and the next service goes on with it after a kill.
 */
import { compact } from "../../base/compact.ts";
import { ProcmanError, reasonOf } from "../../base/errors.ts";
import type { Caller, Control, DeploymentQuery } from "../../contract/control.ts";
import type { DeployOrder } from "../../contract/deployment-record.ts";
import { rolloutRunning, sameProcmanText } from "../../contract/held-rollout.ts";
import {
  NO_WAY_BACK,
  ROLLED_SCOPES,
  type RolledAction,
  type RolloutAction,
  type RolloutOrder,
  type RolloutRecord,
  type RolloutStep,
} from "../../contract/rollout-record.ts";
import type { StateRecord } from "../../contract/state-record.ts";
import { isAllowed } from "../../contract/token-claims.ts";
import { failpoint } from "../../os/failpoint.ts";
import { afterStep, carriedOut, type HostRolloutState } from "../../releases/rollout-machine.ts";
import { RolloutStore, type StoredRollout } from "../../releases/rollout-store.ts";
import { removeUpload } from "../../releases/upload-path.ts";
import type { Subsystem } from "../subsystem.ts";
import { type DeedContext, FORWARD, goBack, hasChanged, present } from "./host-deeds.ts";
import { News } from "./news.ts";
import type { OperationContext } from "./operation-context.ts";

type HostRolloutContext = Omit<DeedContext, "control" | "signal" | "say"> &
  Pick<OperationContext, "log"> & {
    readonly events: { readonly onRollout: (rollout: RolloutRecord) => void };
    readonly control: (caller: Caller) => Control;
  };

export class HostRollout implements Subsystem {
  readonly #context: HostRolloutContext;
  readonly #store: RolloutStore;
  readonly #news = new News();
  readonly #abort = new AbortController();
  #stored: StoredRollout | undefined;
  /** Steps are begun one after another. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(context: HostRolloutContext) {
    this.#context = context;
    this.#store = new RolloutStore(context.specs.config.stateDir);
  }

  /** Reloads, restarts and deployments of the earlier service are under way again. */
  recover(): void {
    try {
      this.#stored = this.#store.read();
    } catch (error) {
      this.#context.log.error(`Cannot go on with a rollout: ${reasonOf(error)}; remove the file if it is over`);
    }
    const { phase, ended, action } = this.#stored?.record ?? {};
    if (ended === undefined && (phase === "running" || phase === "back-running") && action?.kind !== "upgrade")
      void this.#carryOut(true);
  }

  end(): void {
    this.retire();
  }

  retire(): void {
    this.#abort.abort();
    this.#news.tell();
  }

  /** @throws {ProcmanError} `rollout-unknown` */
  async rollout({ after, waitSeconds, signal }: DeploymentQuery = {}): Promise<RolloutRecord> {
    if (waitSeconds !== undefined && after === this.#stored?.record.next && !this.#abort.signal.aborted)
      await this.#news.next({ waitSeconds, ...(signal && { signal }) });
    if (this.#stored === undefined) throw unknown("this host has taken part in none");
    return this.#stored.record;
  }

  /** The rollout in which this host takes part now. */
  get mark(): StateRecord["rollout"] {
    const { id, by, time } = this.#held ?? {};
    return id === undefined || time === undefined ? undefined : compact({ id, by, time });
  }

  /** @throws {ProcmanError} `rollout-running`, `rollout-refused`, `scope-missing`, those of `Control.process` */
  join(order: RolloutOrder, caller: Caller): Promise<RolloutRecord> {
    return this.#inTurn(async () => {
      checkRight(order.action, caller);
      checkOrder(order);
      const control = this.#context.control(caller);
      for (const id of order.action.ids ?? []) await control.process(id);
      const held = this.#held;
      if (held !== undefined) return joinedAlready(held, order);
      const now = new Date().toISOString();
      const { consumer, user, isOwner = false } = caller;
      const next = (this.#stored?.record.next ?? 0) + 1;
      const record = compact({ ...order, phase: "waiting" as const, since: now, time: now, consumer, user, next });
      return this.#write({ format: "1", record, isOwner });
    });
  }

  /** @throws {ProcmanError} `rollout-unknown`, `rollout-refused`, `scope-missing` */
  step(asked: RolloutStep, caller: Caller): Promise<RolloutRecord> {
    return this.#inTurn(async () => {
      const stored = this.#stored;
      if (stored?.record.id !== asked.id) throw unknown(`${asked.id} isn't known here`);
      const { record } = stored;
      checkRight(record.action, caller);
      if (record.ended !== undefined && asked.step === "release") return record;
      if (record.ended !== undefined) throw unknown(`${asked.id} is over here`);
      const next = afterStep(stateIn(record), asked, record.drains === true);
      if (next === undefined)
        throw new ProcmanError("rollout-refused", `Cannot ${asked.step}: ${record.host} is ${record.phase}`);
      if (asked.step === "release") return this.#release(stored);
      if (next.runs === undefined) return this.#become(stored, next.state);
      return this.#begin(stored, next.state, caller);
    });
  }

  /** Whether the rollout under way may deploy this upload, once more if that has failed. */
  needsUpload({ folder, tarball }: DeployOrder): boolean {
    const order = this.#held?.action.order;
    return order !== undefined && order.folder === folder && order.tarball === tarball;
  }

  async #begin(stored: StoredRollout, state: HostRolloutState, caller: Caller): Promise<RolloutRecord> {
    const { changed, action } = stored.record;
    const marks = await present(action, this.#deedContext(caller));
    const before = changed === true ? (stored.before ?? marks) : marks;
    const begun = this.#become({ ...stored, before, marks, isOwner: caller.isOwner === true }, state);
    if (action.kind !== "upgrade") void this.#carryOut(false, caller);
    return begun;
  }

  /** What was uploaded for it isn't needed any more. */
  async #release(stored: StoredRollout): Promise<RolloutRecord> {
    const { record } = stored;
    await removeUpload(record.action.order ?? {});
    return this.#write({ ...stored, record: { ...record, ended: nowText() } });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  get #held(): RolloutRecord | undefined {
    const record = this.#stored?.record;
    return record?.ended === undefined ? record : undefined;
  }

  #deedContext(caller: Caller): DeedContext {
    const say = (line: string): void => {
      if (this.#stored === undefined) return;
      const { record } = this.#stored;
      this.#stored = { ...this.#stored, record: { ...record, line, said: nowText(), next: record.next + 1 } };
      this.#news.tell();
    };
    const { id, by } = this.#stored?.record ?? {};
    const asker = id === undefined ? caller : { ...caller, rollout: compact({ id, by }) };
    return { ...this.#context, control: this.#context.control(asker), signal: this.#abort.signal, say };
  }

  /** Never rejects. */
  async #carryOut(isResumed: boolean, asker?: Caller): Promise<void> {
    const stored = this.#stored;
    if (stored === undefined) return;
    failpoint("service.rollout-noted");
    const { record, before = {}, marks = before, isOwner } = stored;
    const { consumer, user, action, drains = false } = record;
    const caller = asker ?? { consumer, ...(user !== undefined && { user }), ...(isOwner && { isOwner }) };
    const context = this.#deedContext(caller);
    const deed = { action, before, marks, since: Date.parse(record.since), isResumed };
    const problem = await outcome(() => (record.phase === "running" ? FORWARD[action.kind] : goBack)(deed, context));
    if (this.#abort.signal.aborted) return;
    failpoint("service.rollout-did");
    try {
      const changed = await hasChanged(action, before, context);
      const state = carriedOut(stateIn(this.#stored?.record ?? record), compact({ problem, changed }), drains);
      this.#become(this.#stored ?? stored, state);
    } catch (error) {
      this.#context.log.error(`Cannot write down how rollout ${record.id} goes on: ${reasonOf(error)}`);
    }
  }

  #become(stored: StoredRollout, state: HostRolloutState): RolloutRecord {
    const { problem: _, changed: _c, back: _b, aborted: _a, line: _line, said: _said, ...rest } = stored.record;
    const since = stored.record.phase === state.phase ? rest.since : nowText();
    const record = this.#write({ ...stored, record: { ...rest, ...state, since, next: rest.next + 1 } });
    const { id, action, phase, problem } = record;
    const line = `rollout ${id}: ${action.kind} is ${phase}`;
    if (problem === undefined) this.#context.log.info(line);
    else this.#context.log.warn(`${line}: ${problem}`);
    return record;
  }

  /** @throws errors of the file system */
  #write(stored: StoredRollout): RolloutRecord {
    this.#store.write(stored);
    this.#stored = stored;
    this.#context.events.onRollout(stored.record);
    this.#news.tell();
    return stored.record;
  }
}

function stateIn({ phase, problem, changed, back, aborted }: RolloutRecord): HostRolloutState {
  return compact({ phase, problem, changed, back, aborted });
}

/** @throws {ProcmanError} `scope-missing` */
function checkRight({ kind }: RolloutAction, { scopes, consumer }: Caller): void {
  const scope = ROLLED_SCOPES[kind];
  if (scopes === undefined || isAllowed(scope, scopes)) return;
  throw new ProcmanError(
    "scope-missing",
    `Cannot ${kind} by a rollout: the token of "${consumer}" lacks the scope "${scope}"`,
  );
}

const WITHOUT_IDS: readonly RolledAction[] = ["reload", "rollback", "upgrade"];

/** @throws {ProcmanError} `rollout-refused` */
function checkOrder({ action, host, hosts, onFailure }: RolloutOrder): void {
  const { kind, ids = [], scaling, signalling, order } = action;
  const missing =
    kind === "deploy"
      ? order === undefined
      : kind === "scale"
        ? ids.length !== 1 || scaling === undefined
        : !WITHOUT_IDS.includes(kind) && ids.length === 0;
  const why = NO_WAY_BACK[kind];
  if (missing || (kind === "signal" && signalling === undefined))
    throw refused(`its action ${kind} lacks what it is done to`);
  if (!hosts.includes(host)) throw refused(`${host} is none of its hosts`);
  if (onFailure === "rollback" && why !== undefined) throw refused(`${why}; use "onFailure": "stop"`);
}

/** The same again, or why not. @throws {ProcmanError} `rollout-running`, `rollout-refused` */
function joinedAlready(held: RolloutRecord, { id, host }: RolloutOrder): RolloutRecord {
  if (held.id === id && held.host === host) return held;
  if (held.id === id) throw refused(sameProcmanText(held.host, host));
  throw rolloutRunning(held, host);
}

async function outcome(deed: () => Promise<void>): Promise<string | undefined> {
  try {
    await deed();
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

function nowText(): string {
  return new Date().toISOString();
}

function refused(why: string): ProcmanError {
  return new ProcmanError("rollout-refused", `Cannot take part in the rollout: ${why}`);
}

function unknown(why: string): ProcmanError {
  return new ProcmanError("rollout-unknown", `Cannot find the rollout: ${why}`);
}
