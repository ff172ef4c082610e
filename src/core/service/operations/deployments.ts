/**
 * Deployments: one at a time, in the service, so that who has asked for one may leave and come back. A service that was
 * killed, upgraded or ended meanwhile is followed by one that goes on, or goes back.
 */
import { join } from "node:path";
import { compact } from "../../base/compact.ts";
import { reasonOf } from "../../base/errors.ts";
import { type Caller, callerText, type DeploymentQuery, type RollbackOptions } from "../../contract/control.ts";
import { deploymentEnd } from "../../contract/deployment-end.ts";
import type { DeploymentRecord, DeployOrder, ReleaseRecord } from "../../contract/deployment-record.ts";
import type { RollbackRecord } from "../../contract/history-record.ts";
import { historyDiff } from "../../history/history-reader.ts";
import { activeIn, entryNamed } from "../../history/shown-history.ts";
import { firstStep, resumed } from "../../releases/deploy-machine.ts";
import { carryOut } from "../../releases/deployment-runner.ts";
import type { StoredDeployment } from "../../releases/deployment-store.ts";
import { currentRelease, isReleaseId, pidsIn, releaseIds } from "../../releases/release-folder.ts";
import { removeUpload } from "../../releases/upload-path.ts";
import type { Subsystem } from "../subsystem.ts";
import { DeployRequests, refusing } from "./deploy-request.ts";
import { type DeployContext, DeploySteps, stepText } from "./deploy-steps.ts";
import { DeploymentJournal, deployRefused as refused } from "./deployment-journal.ts";
import { Leftovers } from "./leftover-releases.ts";
import { releasesOf } from "./release-processes.ts";
import { WarmInstances } from "./warm-instances.ts";

export class Deployments implements Subsystem {
  readonly #context: DeployContext;
  readonly #journal: DeploymentJournal;
  readonly #warm: WarmInstances;
  readonly #leftovers: Leftovers;
  readonly #requests: DeployRequests;
  readonly #abort = new AbortController();
  #isPreparing: Caller | undefined;

  constructor(context: DeployContext) {
    this.#context = context;
    this.#journal = new DeploymentJournal(context);
    this.#warm = new WarmInstances(context);
    this.#requests = new DeployRequests(context, this.#warm);
    this.#leftovers = new Leftovers(context, () => this.#isFree);
  }

  /** The reloads and restarts of the earlier service are under way again. */
  recover(): void {
    try {
      this.#warm.resume();
      const deployment = this.#journal.last();
      if (deployment?.progress.step === undefined) {
        this.#settleFiles(deployment);
        return this.#leftovers.remove();
      }
      const isNew = deployment.order.release === undefined;
      const progress = resumed(deployment.progress, isNew);
      this.#journal.say(`deployment ${deployment.number}: goes on, as procman was restarted`);
      this.#begin({ ...deployment, progress });
    } catch (error) {
      this.#context.log.error(`Cannot go on with a deployment: ${reasonOf(error)}`);
    }
  }

  end(): void {
    this.retire();
  }

  retire(): void {
    this.#abort.abort();
    this.#warm.retire();
    this.#leftovers.retire();
    this.#journal.wake();
  }

  /** @throws {ProcmanError} `deploy-refused`, `deploy-running`, `release-unknown`, `exec-refused` */
  deploy(order: DeployOrder, caller: Caller): Promise<DeploymentRecord> {
    return this.#deploy(order, caller, undefined);
  }

  /** `restores`: the entry of the history whose texts go back with the release. */
  async #deploy(order: DeployOrder, caller: Caller, restores: StoredDeployment["restores"]): Promise<DeploymentRecord> {
    const releases = releasesOf(this.#context, "deploy");
    this.#checkRight(order, caller);
    this.#checkFree(refusing(order));
    this.#isPreparing = caller;
    try {
      await this.#leftovers.removal;
      const { request, bytes } = await this.#requests.checked(order, caller, releases);
      if (order.dryRun === true) return this.#requests.planned(request, releases, bytes);
      const progress = firstStep(order.release === undefined);
      const number = this.#journal.start();
      this.#begin({ format: "1", number, ...request, ...(restores !== undefined && { restores }), progress });
    } finally {
      this.#isPreparing = undefined;
    }
    return this.deployment("latest");
  }

  /** `id`: a number, or `latest`. Waits for lines after `after`, or the end. @throws {ProcmanError} `release-unknown` */
  deployment(id: string, query?: DeploymentQuery): Promise<DeploymentRecord> {
    return this.#journal.deployment(id, query);
  }

  /** Undefined: what is meant is no release, but a configuration. @throws {ProcmanError} those of `deploy`, `deploy-failed`, `wait-timeout` */
  async rollback(
    to: string | undefined,
    { waitSeconds, signal, caller, dryRun = false, force = false }: RollbackOptions & { readonly caller: Caller },
  ): Promise<RollbackRecord | undefined> {
    const found = await this.#releaseFor(to);
    if (found === undefined) return undefined;
    const { rollbackTo, release } = found;
    const plan =
      rollbackTo === undefined ? undefined : await this.#context.rollbacks.planWithRelease(String(rollbackTo), force);
    if (plan !== undefined) {
      if (this.#isPresent(release)) return undefined;
      checkSettings(plan.record, release);
    }
    const begun = await this.#deploy({ release, ...(dryRun && { dryRun }) }, caller, plan?.restores);
    if (waitSeconds !== undefined && !dryRun) await deploymentEnd(this, begun, { waitSeconds, signal });
    const { file } = this.#context.specs.config;
    return {
      configFile: file,
      processes: [],
      settings: [],
      warnings: [],
      files: [],
      ...plan?.record,
      remarks: [...(plan?.record.remarks ?? []), ...(dryRun ? begun.lines : [])],
      ...found,
    };
  }

  #isPresent(release: string): boolean {
    const { folder, current } = releasesOf(this.#context, "roll back");
    return currentRelease(folder, current) === release;
  }

  #settleFiles(deployment: StoredDeployment | undefined): void {
    this.#context.rollbacks.settleDeployment(deployment?.progress.result === "done" ? "done" : "taken-back");
  }

  /** The release of an id, or of an entry of the history. */
  async #releaseFor(
    to: string | undefined,
  ): Promise<(Pick<RollbackRecord, "rollbackTo"> & { readonly release: string }) | undefined> {
    const { store } = this.#context.history;
    if (to !== undefined && isReleaseId(to)) return { release: to };
    if (to === "previous" || (to !== undefined && /^\d+$/.test(to))) {
      const { number, entry } = entryNamed(to, store);
      return entry.release === undefined ? undefined : { release: entry.release, rollbackTo: number };
    }
    const last = to === undefined ? activeIn(store)?.entry : undefined;
    // Changes of the files are taken back first.
    if (last?.release === undefined || (await historyDiff(store, "active")).files.length > 0) return undefined;
    const { release, releaseBefore = "" } = last;
    if (isReleaseId(releaseBefore)) return { release: releaseBefore };
    throw refused(
      `the last change was release ${release}, and there was none before it; name an entry of "procman history", whose configuration comes back`,
      "deploy-refused",
      "roll back",
    );
  }

  /** Newest first. @throws {ProcmanError} `deploy-refused` */
  releases(): readonly ReleaseRecord[] {
    const { folder, current } = releasesOf(this.#context, "list releases");
    const ids = releaseIds(folder);
    const present = currentRelease(folder, current);
    const pids = pidsIn(ids.map((id) => join(folder, id)));
    const known = this.#journal.all();
    return ids.map((id) => {
      const last = known.find(({ release }) => release === id);
      const made = known.findLast(({ release }) => release === id);
      return compact({
        id,
        path: join(folder, id),
        current: id === present ? (true as const) : undefined,
        source: made?.source,
        time: made?.time,
        result: last?.progress.result,
        problem: last?.progress.problem,
        pids: pids.get(join(folder, id)) ?? [],
      });
    });
  }

  get #isFree(): boolean {
    return this.#isPreparing === undefined && this.#journal.latest?.progress.step === undefined;
  }

  /** @throws {ProcmanError} `deploy-running`, `deploy-refused` */
  #checkFree(refused: ReturnType<typeof refusing>): void {
    if (this.#isPreparing !== undefined)
      throw refused(`another one is being checked for ${callerText(this.#isPreparing)}`, "deploy-running");
    const { number, release, progress, time, ...by } = this.#journal.latest ?? {};
    if (progress?.step !== undefined)
      throw refused(
        `deployment ${number} (release ${release}) is under way for ${callerText({ consumer: "", ...by })} since ${time}; "procman deploy --wait" shows it`,
        "deploy-running",
      );
    this.#context.operations.check({ kind: "plan", targets: [] }, "deploy");
    if (this.#abort.signal.aborted) throw refused("procman is ending");
  }

  /** A new release brings programs that the file doesn't name: as for a command, a token alone isn't enough. */
  #checkRight({ release }: DeployOrder, { isOwner }: Caller): void {
    if (release !== undefined || isOwner === true || this.#context.specs.config.api.exec === true) return;
    const remedy = 'set it, and run "procman reload", or deploy on the machine itself';
    throw refused(`by the port of the API a new release needs "exec": true in "api"; ${remedy}`, "exec-refused");
  }

  #begin(deployment: StoredDeployment): void {
    const { number, order, source, release, consumer, user, rollout } = deployment;
    const caller = compact({ consumer, user, rollout });
    try {
      this.#journal.write(deployment);
    } catch (error) {
      throw refused(`it can't be written down: ${reasonOf(error)}`);
    }
    this.#context.log.info(`deployment ${number}: ${release} from ${source}, for ${callerText(caller)}`);
    void this.#carryOut(deployment, caller, order.release === undefined).catch((error: Error) => {
      this.#context.log.error(
        `Cannot write down how deployment ${number} goes on: ${reasonOf(error)}; it stands still until procman is restarted`,
      );
      this.#journal.wake();
    });
  }

  async #carryOut(deployment: StoredDeployment, caller: Caller, isNew: boolean): Promise<void> {
    const { signal } = this.#abort;
    const releases = releasesOf(this.#context, "deploy");
    const steps = new DeploySteps(this.#context, {
      deployment,
      releases,
      warm: this.#warm,
      caller,
      signal,
      say: (line) => this.#journal.say(line),
    });
    const end = await carryOut(deployment.progress, {
      isNew,
      signal,
      deeds: steps.deeds,
      write: (progress) => {
        const text = progress.isBegun ? stepText(progress.step, releases) : "";
        if (text !== "") this.#journal.say(text);
        else if (progress.problem !== undefined && this.#journal.latest?.progress.problem === undefined)
          this.#journal.say(progress.problem);
        const isOver = progress.step === undefined;
        this.#journal.write({ ...deployment, progress, ...(isOver && { ended: new Date().toISOString() }) });
      },
    });
    if (end !== undefined) this.#finish(deployment, caller);
  }

  #finish({ number, order, release, before }: StoredDeployment, caller: Caller): void {
    if (!this.#context.needsUpload(order))
      void removeUpload(order).catch((error: Error) =>
        this.#context.log.warn(`Cannot remove an upload: ${error.message}`),
      );
    const { result, problem } = this.#journal.latest?.progress ?? {};
    const text = `deployment ${number}: ${result === "done" ? `${release} is in use` : `${result === "failed" ? "failed, nothing was switched" : `taken back, ${before ?? "no release"} is in use`}`}`;
    if (result === "done") this.#context.log.info(text);
    else this.#context.log.error(`${text}: ${problem}`);
    if (result !== "failed")
      this.#context.history.deployed({
        release,
        before,
        caller,
        result: result === "done" ? "applied" : "rolled-back",
        ...(result !== "done" && { problem }),
      });
    this.#settleFiles(this.#journal.latest);
    this.#journal.finish();
    this.#leftovers.remove();
  }
}

/** Other folders of releases can't be applied together with one of them. @throws {ProcmanError} `deploy-refused` */
function checkSettings({ rollbackTo, settings }: RollbackRecord, release: string): void {
  if (settings.some(({ field }) => field === "releases"))
    throw refused(
      `entry ${rollbackTo} has another "releases"; "procman rollback ${release}" goes back to its release alone`,
      "deploy-refused",
      `roll back to ${rollbackTo}`,
    );
}
