/**
 * Goes back to an earlier configuration: puts its texts back into the files, and reloads, all or nothing. If the reload is
 * refused or taken back, the files are as before, too. A service that was killed meanwhile is followed by one that goes on.
 */
import { compact } from "../../base/compact.ts";
import { ProcmanError, reasonOf } from "../../base/errors.ts";
import type { Caller, RollbackOptions } from "../../contract/control.ts";
import type { RollbackRecord } from "../../contract/history-record.ts";
import { type Rollback, RollbackFiles } from "../../history/rollback-files.ts";
import { entryToRestore, remarksOn, shownChanges } from "../../history/rollback-request.ts";
import { entryNamed, type SoundEntry } from "../../history/shown-history.ts";
import type { StoredDeployment } from "../../releases/deployment-store.ts";
import type { Subsystem } from "../subsystem.ts";
import type { OperationContext } from "./operation-context.ts";
import type { Reloads } from "./reload.ts";

/** The entry whose texts go back with the release of a deployment. */
type RestoredEntry = NonNullable<StoredDeployment["restores"]>;

type RollbackPlan = { readonly restores: RestoredEntry; readonly record: RollbackRecord };

type RollbackContext = Pick<OperationContext, "history" | "log" | "operations" | "specs">;

export class Rollbacks implements Subsystem {
  readonly #context: RollbackContext;
  readonly #reloads: Pick<Reloads, "begin" | "checkedPlan" | "settled" | "wasTakenBack">;
  readonly #files: RollbackFiles;
  /** A rollback whose reload has not begun yet. */
  #isPreparing = false;
  #isRetired = false;

  constructor(context: RollbackContext, reloads: Pick<Reloads, "begin" | "checkedPlan" | "settled" | "wasTakenBack">) {
    this.#context = context;
    this.#reloads = reloads;
    this.#files = new RollbackFiles(context.history.store, context.specs.config.stateDir);
  }

  /** The reload of the one that an earlier service has begun is under way again, or done. */
  recover(): void {
    const { underWay } = this;
    if (underWay !== undefined && underWay.deployment === undefined) void this.#follow(this.#reloads.wasTakenBack());
  }

  /** The rollback that this service, or an earlier one, has begun. */
  get underWay(): Rollback | undefined {
    return this.#files.underWay;
  }

  retire(): void {
    this.#isRetired = true;
  }

  /**
   * `to` absent: the configuration in force, if the files differ from it, else the one before it.
   *
   * @throws {ProcmanError} `history-unknown`, `history-damaged`, `rollback-refused`, those of a reload
   */
  async rollback(
    to: string | undefined,
    { force = false, dryRun = false, waitSeconds, signal, caller }: RollbackOptions & { readonly caller: Caller },
  ): Promise<RollbackRecord> {
    const what = `roll back${to === undefined ? "" : ` to ${to}`}`;
    this.#check(what);
    const found = await entryToRestore(to, this.#context.history.store);
    const main = this.#context.specs.config.file;
    const { number, entry } = found;
    if (dryRun) return this.#planned(found, force);
    const remarks = await remarksOn(this.#files.planned(found, main), { found, main, force });
    // Other requests may have come meanwhile.
    this.#check(what);
    const files = this.#files.planned(found, main);
    this.#files.begin({ number, main, files, ...(entry.profile !== undefined && { profile: entry.profile }) });
    const begun = await this.#reload(found, caller);
    const done = this.#follow(begun.work.then((failure) => failure !== undefined));
    const plan = waitSeconds === undefined ? begun.plan : await this.#settled(begun, done, { waitSeconds, signal });
    return { ...plan, rollbackTo: number, files: shownChanges(files), remarks };
  }

  /**
   * What goes back with the release of an entry; undefined: the files have its texts already.
   *
   * @throws {ProcmanError} `history-unknown`, `history-damaged`, `rollback-refused`, those of a reload
   */
  async planWithRelease(to: string, force: boolean): Promise<RollbackPlan | undefined> {
    this.#check(`roll back to ${to}`);
    const { history, specs } = this.#context;
    const found = await entryToRestore(to, history.store);
    const { profile } = found.entry;
    const isSame = this.#files.planned(found, specs.config.file).length === 0 && profile === specs.config.profile;
    if (isSame) return undefined;
    const restores = compact({ number: found.number, profile, profileBefore: specs.config.profile });
    return { restores, record: await this.#planned(found, force) };
  }

  /** A deployment puts the texts of an entry back; what was begun was completed by the service's start. @throws {ProcmanError} `configuration-missing` */
  putBack({ number, profile }: RestoredEntry, deployment: number): void {
    if (this.underWay !== undefined) return;
    const main = this.#context.specs.config.file;
    const files = this.#files.planned(entryNamed(String(number), this.#context.history.store), main);
    this.#files.begin(compact({ number, main, files, profile, deployment }));
  }

  /** The deployment is over, or goes back: then the files get their texts of before. */
  settleDeployment(result: "done" | "taken-back"): void {
    if (this.underWay?.deployment === undefined) return;
    if (result === "done") this.#files.end();
    else this.#takeBack();
  }

  async #planned(found: SoundEntry, force: boolean): Promise<RollbackRecord> {
    const main = this.#context.specs.config.file;
    const changes = this.#files.planned(found, main);
    const remarks = await remarksOn(changes, { found, main, force });
    const texts = this.#files.textsAt(found, main);
    const plan = await this.#reloads.checkedPlan({ profile: found.entry.profile ?? null }, texts);
    return { ...plan, rollbackTo: found.number, files: shownChanges(changes), remarks };
  }

  /** @throws {ProcmanError} `reload-running` */
  #check(what: string): void {
    if (this.underWay?.deployment !== undefined)
      throw new ProcmanError(
        "reload-running",
        `Cannot ${what}: a deployment goes back to an entry of the history; "procman deploy --wait" waits for its end`,
      );
    if (this.#isPreparing) throw new ProcmanError("reload-running", `Cannot ${what}: another rollback is under way`);
    this.#context.operations.check({ kind: "reload", targets: [] }, what);
  }

  async #reload({ number, entry }: SoundEntry, caller: Caller): ReturnType<Reloads["begin"]> {
    this.#isPreparing = true;
    try {
      return await this.#reloads.begin(`rollback to ${number}, asked by ${caller.consumer}`, {
        profile: entry.profile ?? null,
        caller,
        rollbackTo: number,
      });
    } catch (error) {
      this.#takeBack();
      throw error;
    } finally {
      this.#isPreparing = false;
    }
  }

  async #settled(
    begun: Awaited<ReturnType<Reloads["begin"]>>,
    done: Promise<void>,
    waiting: { readonly waitSeconds: number; readonly signal: AbortSignal | undefined },
  ): ReturnType<Reloads["settled"]> {
    try {
      return await this.#reloads.settled(begun, waiting);
    } catch (error) {
      // Its answer says that nothing has changed, so the files are put back before.
      if (error instanceof ProcmanError && error.code === "reload-failed") await done;
      throw error;
    }
  }

  /** Until the reload is over. */
  async #follow(isTakenBack: Promise<boolean>): Promise<void> {
    const mustTakeBack = await isTakenBack;
    if (this.#isRetired) return;
    if (!mustTakeBack) return this.#files.end();
    this.#takeBack();
  }

  /** Copies of the texts of before stay beside files that can't be written. */
  #takeBack(): void {
    const { log } = this.#context;
    try {
      this.#files.takeBack();
      log.info("the configuration files are as before the rollback");
    } catch (error) {
      log.error(
        `Cannot put the configuration files back: ${reasonOf(error)}; their texts of before the rollback are beside them`,
      );
    }
  }
}
