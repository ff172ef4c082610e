/**
 * Deployments: one at a time, in the service, so that who has asked for one may leave and come back. A service that was
 * killed, upgraded or ended meanwhile is followed by one that goes on, or goes back.
 */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { compact } from "../../base/compact.ts";
import { ProcmanError, reasonOf } from "../../base/errors.ts";
import type { ReleasesSpec } from "../../config/spec.ts";
import { type Caller, callerText, type DeploymentQuery, type RollbackOptions } from "../../contract/control.ts";
import { deploymentEnd } from "../../contract/deployment-end.ts";
import {
  type DeploymentRecord,
  type DeployOrder,
  RELEASE_SOURCES,
  type ReleaseRecord,
} from "../../contract/deployment-record.ts";
import type { RollbackRecord } from "../../contract/history-record.ts";
import { isChange } from "../../contract/plan.ts";
import { historyDiff } from "../../history/history-reader.ts";
import { activeIn, entryNamed } from "../../history/shown-history.ts";
import { firstStep, resumed } from "../../releases/deploy-machine.ts";
import { carryOut } from "../../releases/deployment-runner.ts";
import type { StoredDeployment } from "../../releases/deployment-store.ts";
import { checkRoom, commitOf } from "../../releases/release-copy.ts";
import {
  currentRelease,
  isReleaseId,
  linkTarget,
  newReleaseId,
  pidsIn,
  releaseIds,
} from "../../releases/release-folder.ts";
import { checkUpload, removeUpload } from "../../releases/upload-path.ts";
import type { Subsystem } from "../subsystem.ts";
import {
  contentsFor,
  type DeployContext,
  DeploySteps,
  makeReleasesFolder,
  removable,
  stepText,
} from "./deploy-steps.ts";
import { DeploymentJournal, recordOf, deployRefused as refused } from "./deployment-journal.ts";
import { Leftovers } from "./leftover-releases.ts";
import { processesOf, releasesOf, specsOfRelease } from "./release-processes.ts";
import { type WarmClusters, WarmInstances } from "./warm-instances.ts";

type DeployRequest = Omit<StoredDeployment, "number" | "progress" | "format">;

export class Deployments implements Subsystem {
  readonly #context: DeployContext;
  readonly #journal: DeploymentJournal;
  readonly #warm: WarmInstances;
  readonly #leftovers: Leftovers;
  readonly #abort = new AbortController();
  #isPreparing: Caller | undefined;

  constructor(context: DeployContext) {
    this.#context = context;
    this.#journal = new DeploymentJournal(context);
    this.#warm = new WarmInstances(context);
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
    this.#checkFree();
    this.#isPreparing = caller;
    try {
      await this.#leftovers.removal;
      const { request, bytes } = await this.#checked(order, caller, releases);
      if (order.dryRun === true) return this.#planned(request, releases, bytes);
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
    if (to !== undefined && /^\d+$/.test(to)) {
      const { number, entry } = entryNamed(to, store);
      return entry.release === undefined ? undefined : { release: entry.release, rollbackTo: number };
    }
    const release = to === undefined ? activeIn(store)?.entry.releaseBefore : undefined;
    if (release === undefined || !isReleaseId(release)) return undefined;
    // Changes of the files are taken back first.
    return (await historyDiff(store, "active")).files.length > 0 ? undefined : { release };
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
  #checkFree(): void {
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

  /** Everything that can be known before. */
  async #checked(
    order: DeployOrder,
    caller: Caller,
    releases: ReleasesSpec,
  ): Promise<{ readonly request: DeployRequest; readonly bytes: number }> {
    const { folder, current } = releases;
    const named = RELEASE_SOURCES.filter((name) => order[name] !== undefined);
    if (named.length !== 1) throw refused(`name one of ${RELEASE_SOURCES.join(", ")}`);
    if ((order.ref === undefined) !== (order.repository === undefined))
      throw refused('"ref" and "repository" belong together');
    const { settings } = this.#context.reloads.plan();
    if (settings.some(({ field }) => field === "releases"))
      throw refused(
        `"releases" in ${basename(this.#context.specs.config.file)} has changed; run "procman reload" first`,
      );
    if (specsOfRelease(this.#context, releases).length === 0)
      throw refused(`no process has its "cwd" or "worker" in ${current}; set it for those that belong to a release`);
    try {
      checkUpload(order);
      checkWritable(order.release === undefined ? [dirname(current), folder] : [dirname(current)]);
      const { source, commit, bytes } = await this.#source(order, releases);
      this.#warm.check(this.#warmClusters(releases));
      const target = linkTarget(current);
      const release = order.release ?? newReleaseId(folder, new Date(), commit);
      const before = currentRelease(folder, current) ?? target;
      if (order.release !== undefined && before === release)
        throw new Error(`${release} is the present release already`);
      const { consumer, user } = caller;
      return {
        request: compact({
          release,
          target,
          before,
          order,
          commit,
          source,
          consumer,
          user,
          time: new Date().toISOString(),
        }),
        bytes,
      };
    } catch (error) {
      if (error instanceof ProcmanError) throw error;
      throw refused(reasonOf(error));
    }
  }

  /** @throws Error with the problem */
  async #source(
    order: DeployOrder,
    releases: ReleasesSpec,
  ): Promise<{ readonly source: string; readonly commit?: string; readonly bytes: number }> {
    const { folder, tarball, ref, repository = "", release = "" } = order;
    if (ref !== undefined) {
      const commit = await commitOf(ref, repository);
      return { source: `${ref} (${commit.slice(0, 12)}) of ${repository}`, commit, bytes: 0 };
    }
    const source = folder ?? tarball;
    if (source === undefined) {
      const found = releaseIds(releases.folder);
      if (isReleaseId(release) && found.includes(release)) return { source: `the release ${release}`, bytes: 0 };
      throw refused(
        `${releases.folder} has no release ${JSON.stringify(release)}${found.length === 0 ? "" : `; it has ${found.slice(0, 5).join(", ")}`}`,
        "release-unknown",
      );
    }
    if (!existsSync(source)) throw new Error(`there is no ${source}`);
    if (statSync(source).isDirectory() !== (folder !== undefined))
      throw new Error(`${source} is ${folder === undefined ? "a folder, not an archive" : "no folder"}`);
    try {
      const { bytes } = await contentsFor(order, this.#context, releases);
      makeReleasesFolder(releases);
      await checkRoom(releases.folder, bytes);
      return { source: order.uploaded ?? source, bytes };
    } catch (error) {
      throw new Error(`${source}: ${reasonOf(error)}`);
    }
  }

  /** Clusters that a reload changes are restarted by it. */
  #warmClusters(releases: ReleasesSpec): WarmClusters {
    const changed = new Set(
      this.#context.reloads
        .plan()
        .processes.filter(isChange)
        .map(({ process }) => process),
    );
    const unchanged = processesOf(this.#context, releases).filter(({ id }) => !changed.has(id));
    return this.#warm.clusters(releases, unchanged);
  }

  #planned(request: DeployRequest, releases: ReleasesSpec, bytes: number): DeploymentRecord {
    const { order, release, before = "nothing" } = request;
    const warm = this.#warmClusters(releases);
    const kept = new Set([...warm.values()].flat().map(({ id }) => id));
    const restarted = specsOfRelease(this.#context, releases).flatMap(({ id }) => (kept.has(id) ? [] : [id]));
    const isNew = order.release === undefined;
    const commands = (step: "prepare" | "before" | "after"): readonly string[] =>
      releases[step].map(({ line }) => `${step}: ${line}`);
    const changed = this.#context.reloads.plan().processes.filter(isChange);
    const lines = [
      ...(isNew
        ? [
            `copy ${request.source}${bytes === 0 ? "" : ` (${(bytes / 1_000_000).toFixed(1)} MB)`} to ${join(releases.folder, release)}`,
            ...commands("prepare"),
            ...commands("before"),
          ]
        : []),
      `switch ${releases.current} from ${before} to ${release}`,
      ...(changed.length > 0 ? [`reload: ${changed.map(({ process }) => process).join(", ")}`] : []),
      ...[...warm].map(([id, { length }]) => `start ${length} more of ${id}; those of before stay, without clients`),
      ...(restarted.length === 0
        ? []
        : [
            `restart ${restarted.join(", ")}${releases.warm === true ? " (not kept warm: no cluster behind the load balancer, or not all of it runs)" : ""}`,
          ]),
      ...commands("after"),
      ...(releases.gate === undefined ? [] : [`watch it for ${releases.gate.ms / 1_000} s`]),
      ...[...warm].map(([id, { length }]) => `restart those of ${id} with the release, and end the ${length} more`),
      ...removable(releases, isNew ? 1 : 0).map((old) => `remove ${old}`),
    ];
    const planned = { ...request, format: "1", number: 1, progress: { isBegun: false, result: "done" } } as const;
    return { ...recordOf(planned, lines, lines.length), number: 0, result: "planned" };
  }

  #begin(deployment: StoredDeployment): void {
    const { number, order, source, release, consumer, user } = deployment;
    const caller = { consumer, ...(user !== undefined && { user }) };
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

/** A folder that isn't there is made. @throws Error that names the first one in which procman can't make anything */
function checkWritable(folders: readonly string[]): void {
  for (const folder of folders.filter(existsSync))
    try {
      accessSync(folder, constants.W_OK | constants.X_OK);
    } catch (error) {
      throw new Error(`procman's user can't write to ${folder}: ${reasonOf(error)}`);
    }
}
