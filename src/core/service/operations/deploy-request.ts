/** Checks an order to deploy, and says what it would do. */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { compact } from "../../base/compact.ts";
import { type ErrorCode, ProcmanError, reasonOf } from "../../base/errors.ts";
import type { ReleasesSpec } from "../../config/spec.ts";
import type { Caller } from "../../contract/control.ts";
import { type DeploymentRecord, type DeployOrder, RELEASE_SOURCES } from "../../contract/deployment-record.ts";
import { isChange } from "../../contract/plan.ts";
import type { StoredDeployment } from "../../releases/deployment-store.ts";
import { checkRoom, commitOf } from "../../releases/release-copy.ts";
import { currentRelease, isReleaseId, linkTarget, newReleaseId, releaseIds } from "../../releases/release-folder.ts";
import { checkUpload } from "../../releases/upload-path.ts";
import { contentsFor, type DeployContext, makeReleasesFolder, removable } from "./deploy-steps.ts";
import { deployRefused, recordOf } from "./deployment-journal.ts";
import { processesOf, specsOfRelease } from "./release-processes.ts";
import type { WarmClusters, WarmInstances } from "./warm-instances.ts";

type DeployRequest = Omit<StoredDeployment, "number" | "progress" | "format">;

export class DeployRequests {
  readonly #context: DeployContext;
  readonly #warm: WarmInstances;

  constructor(context: DeployContext, warm: WarmInstances) {
    this.#context = context;
    this.#warm = warm;
  }

  /** Checks all that can be known before it begins. @throws {ProcmanError} `deploy-refused`, `release-unknown` */
  async checked(
    order: DeployOrder,
    caller: Caller,
    releases: ReleasesSpec,
  ): Promise<{ readonly request: DeployRequest; readonly bytes: number }> {
    const { folder, current } = releases;
    const refused = refusing(order);
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
      const { consumer, user, rollout } = caller;
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
          rollout,
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
      throw refusing(order)(
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

  /** What it would do, as a record that has ended. */
  planned(request: DeployRequest, releases: ReleasesSpec, bytes: number): DeploymentRecord {
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
}

/** Who goes back to a release has typed `rollback`. */
export function refusing({ release }: DeployOrder): (why: string, code?: ErrorCode) => ProcmanError {
  return (why, code) => deployRefused(why, code, release === undefined ? "deploy" : "roll back");
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
