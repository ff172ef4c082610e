/** What each step of a deployment does. Each may be repeated. */
import { existsSync, lstatSync, mkdirSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ProcmanError } from "../../base/errors.ts";
import { printableLine } from "../../base/printable.ts";
import { duration } from "../../base/quantity.ts";
import type { ProcessSpec, ReleasesSpec } from "../../config/spec.ts";
import type { ActOptions, Caller } from "../../contract/control.ts";
import type { DeployOrder, DeployStep } from "../../contract/deployment-record.ts";
import { isChange } from "../../contract/plan.ts";
import type { StoredDeployment } from "../../releases/deployment-store.ts";
import { checkContents, type Entry } from "../../releases/release-contents.ts";
import {
  archiveCommit,
  checkRoom,
  contentsOf,
  copyFolder,
  finishCopy,
  removeRelease,
} from "../../releases/release-copy.ts";
import {
  currentRelease,
  isReleaseId,
  linkTarget,
  pidsIn,
  releaseIds,
  switchLink,
  targetFor,
} from "../../releases/release-folder.ts";
import type { Process } from "../../supervisor/process.ts";
import type { ServiceIncidents } from "../reporting/incidents.ts";
import type { ExecSessions } from "../spawn/exec-sessions.ts";
import { credentialsOf } from "../spawn/run-identity.ts";
import type { Actions } from "./action.ts";
import type { OperationContext } from "./operation-context.ts";
import { keepToGate, mayRunOld, runningOf, specsOfRelease, staleProcesses } from "./release-processes.ts";
import type { ReloadRequest, Reloads } from "./reload.ts";
import type { Rollbacks } from "./rollback.ts";
import type { WarmContext, WarmInstances } from "./warm-instances.ts";

/** A process that is never ready, and has no limit for it, ends the deployment. Seconds. */
const START_SECONDS = 600;
/** What is shown of a program that has failed. */
const LAST_LINES = 10;
const LONGEST_LINE = 1_000;
/** A restart of something else may come in between. */
const ATTEMPTS = 5;

/** Empty: what it does says so itself. */
const STEP_TEXTS: Readonly<Record<DeployStep, string>> = {
  copy: "making the release",
  prepare: "preparing it",
  before: "what comes before the switch",
  switch: "switching the link",
  restart: "putting it in use",
  after: "what comes after the switch",
  gate: "watching it",
  promote: "",
  clean: "",
  "switch-back": "going back: the link",
  "restart-back": "going back: the processes",
  "after-back": "going back: what comes after the switch",
  discard: "removing the release",
};

export type DeployContext = OperationContext & {
  readonly incidents: Pick<ServiceIncidents, "of">;
  readonly rollbacks: Pick<Rollbacks, "planWithRelease" | "putBack" | "settleDeployment">;
  readonly reloads: Pick<Reloads, "begin" | "plan" | "settled">;
  readonly actions: Pick<Actions, "act">;
  readonly exec: Pick<ExecSessions, "run">;
  /** Whether a rollout may deploy this upload once more. */
  readonly needsUpload: (order: DeployOrder) => boolean;
} & WarmContext;

export type DeployRun = {
  readonly deployment: StoredDeployment;
  readonly releases: ReleasesSpec;
  readonly warm: WarmInstances;
  readonly caller: Caller;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
};

type Command = ReleasesSpec["before"][number];

export class DeploySteps {
  readonly #context: DeployContext;
  readonly #run: DeployRun;

  constructor(context: DeployContext, run: DeployRun) {
    this.#context = context;
    this.#run = run;
  }

  get deeds(): Readonly<Record<DeployStep, () => Promise<void>>> {
    const { releases, deployment, warm } = this.#run;
    const { current } = releases;
    return {
      copy: () => this.#copy(),
      prepare: () => this.#commands("prepare", deployment.release),
      before: () => this.#commands("before", deployment.release),
      switch: async () => {
        linkTarget(current);
        this.#putBack();
        switchLink(current, targetFor(current, this.#folder));
      },
      restart: () => this.#watched(() => this.#restart()),
      after: () => this.#commands("after", deployment.release),
      gate: () => this.#watched(() => this.#gate()),
      promote: () => this.#watched(() => this.#promote()),
      clean: () => removeOld(this.#context, releases, this.#run.say),
      "switch-back": async () => {
        warm.giveBack();
        switchLink(current, deployment.target);
        this.#context.rollbacks.settleDeployment("taken-back");
      },
      "restart-back": () => this.#restartBack(),
      "after-back": async () => {
        if (deployment.target !== undefined) await this.#commands("after", deployment.before ?? deployment.target);
      },
      discard: () => removeRelease(this.#folder),
    };
  }

  /** The texts of an entry of the history go back with its release. */
  #putBack(): void {
    const { restores, number } = this.#run.deployment;
    if (restores !== undefined) this.#context.rollbacks.putBack(restores, number);
  }

  /** The release has this folder. */
  get #folder(): string {
    return join(this.#run.releases.folder, this.#run.deployment.release);
  }

  /** The process whose user and environment the commands have. */
  get #model(): ProcessSpec | undefined {
    return specsOfRelease(this.#context, this.#run.releases)[0];
  }

  async #copy(): Promise<void> {
    const { deployment, releases, signal, say } = this.#run;
    const { order, commit = "" } = deployment;
    const archive = order.tarball ?? join(releases.folder, `.${deployment.release}.tar`);
    makeReleasesFolder(releases);
    await removeRelease(this.#folder);
    try {
      if (order.ref !== undefined) await archiveCommit(commit, order.repository ?? "", archive);
      const { entries, bytes } = await contentsFor(
        { ...order, ...(order.ref !== undefined && { tarball: archive }) },
        this.#context,
        releases,
      );
      await checkRoom(releases.folder, bytes);
      if (order.folder === undefined) await (await archives()).unpack(archive, this.#folder, signal);
      else await copyFolder(order.folder, this.#folder, { entries, signal });
      await finishCopy(this.#folder, entries, ownerFor(this.#model));
      const files = entries.filter(({ kind }) => kind === "file").length;
      say(`${files} file${files === 1 ? "" : "s"}, ${(bytes / 1_000_000).toFixed(1)} MB`);
    } finally {
      if (order.ref !== undefined) rmSync(archive, { force: true });
    }
  }

  /** `release`: id of the release that the commands get, or, before the first release, the target of the link. */
  async #commands(step: "prepare" | "before" | "after", release: string): Promise<void> {
    const { current, folder } = this.#run.releases;
    const place = isReleaseId(release) ? join(folder, release) : resolve(dirname(current), release);
    const env = { PROCMAN_RELEASE: release, PROCMAN_RELEASE_FOLDER: place };
    for (const command of this.#run.releases[step]) await this.#command(step, command, env);
  }

  async #command(
    step: string,
    { line, timeoutMs }: Command,
    env: { readonly PROCMAN_RELEASE: string; readonly PROCMAN_RELEASE_FOLDER: string },
  ): Promise<void> {
    const { signal, say } = this.#run;
    const spec = this.#model;
    if (spec === undefined) throw new Error(`there is no process of the release, as whose user "${line}" could run`);
    say(`+ ${line}`);
    const output = new OutputLines(say);
    const cwd = env.PROCMAN_RELEASE_FOLDER;
    try {
      await this.#context.exec.run(spec, { line, cwd, env, timeoutMs, signal }, (chunk) => output.add(chunk));
    } catch (error) {
      output.end();
      throw new Error(`${step}: "${line}" ${(error as Error).message}${output.last === "" ? "" : `: ${output.last}`}`);
    }
    output.end();
  }

  /** Applies the file, if it has changed, and restarts what doesn't run in the release that the link leads to; with `warm`, some of it gets instances beside it. */
  async #restart(): Promise<void> {
    const { warm, deployment } = this.#run;
    const { restores } = deployment;
    await this.#whenFree(async () => {
      // While both releases run, no other reload is accepted.
      if (!warm.isUnderWay)
        await this.#reload(restores && { profile: restores.profile ?? null, rollbackTo: restores.number });
      const kept = await this.#addWarm();
      await this.#restartStale(kept);
      if (kept.length > 0) await warm.rest(kept);
    });
  }

  /** Returns what of the release before stays. */
  async #addWarm(): Promise<readonly Process[]> {
    const { caller, releases, say, warm } = this.#run;
    const clusters = warm.clusters(releases, this.#stale);
    if (clusters.size === 0) return [];
    say(`starting as many instances again: ${[...clusters.keys()].join(", ")}`);
    await warm.add(
      [...clusters].map(([id, { length }]) => [id, length]),
      caller,
      this.#options,
    );
    return [...clusters.values()].flat();
  }

  /** The numbers of the instances that stood by run the release; then the additional instances end. */
  async #promote(): Promise<void> {
    const { caller, warm } = this.#run;
    if (!warm.isUnderWay) return;
    await this.#whenFree(async () => {
      await this.#restartStale([]);
      await warm.remove(caller, this.#options);
    });
  }

  async #restartBack(): Promise<void> {
    const { caller, deployment, warm } = this.#run;
    await this.#whenFree(async () => {
      await warm.remove(caller, this.#options);
      // Without a release to go back to, no process may run in a release that isn't in use.
      if (deployment.target === undefined) return this.#stop();
      await this.#reload(deployment.restores && { profile: deployment.restores.profileBefore ?? null });
      await this.#restartStale([]);
    });
  }

  /** Waits for restarts and reloads under way, also those that begin meanwhile. */
  async #whenFree(deed: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      await Promise.all([
        this.#context.operations.waitForAll("reload"),
        this.#context.operations.waitForAll("rolling-restart"),
      ]);
      this.#run.signal.throwIfAborted();
      try {
        return await deed();
      } catch (error) {
        const isTaken =
          error instanceof ProcmanError && (error.code === "roll-running" || error.code === "reload-running");
        if (!isTaken || attempt === ATTEMPTS) throw error;
      }
    }
  }

  get #options(): ActOptions {
    return { waitSeconds: START_SECONDS, signal: this.#run.signal };
  }

  get #stale(): readonly Process[] {
    const { deployment, releases } = this.#run;
    return staleProcesses(this.#context, releases, deployment.target === undefined);
  }

  /** `request` absent: the file is applied, if it has changed. */
  async #reload(request?: ReloadRequest): Promise<void> {
    const { reloads } = this.#context;
    const { caller, deployment, signal } = this.#run;
    const { processes, settings } = reloads.plan();
    if (request === undefined && !processes.some(isChange) && settings.length === 0) return;
    const begun = await reloads.begin(`deployment of ${deployment.release}`, { ...request, caller });
    const plan = await reloads.settled(begun, { waitSeconds: START_SECONDS, signal });
    const failed = plan.processes.find(({ problem }) => problem !== undefined);
    if (failed !== undefined) throw new Error(`"${failed.process}" is not up: it ${failed.problem}`);
  }

  async #restartStale(kept: readonly Process[]): Promise<void> {
    const { caller, say } = this.#run;
    const { actions, link } = this.#context;
    const stale = this.#stale.filter((process) => !kept.includes(process));
    if (stale.length === 0) return;
    say(`restarting ${stale.map(({ id }) => id).join(", ")}`);
    const { done } = actions.act(stale, { id: "all", action: "restart", caller });
    await link.commit();
    await done(this.#options);
  }

  /** After a failure: the last lines of the run that has ended last since the switch. */
  async #watched(deed: () => Promise<void>): Promise<void> {
    const { releases, say, signal } = this.#run;
    try {
      await deed();
    } catch (error) {
      signal.throwIfAborted();
      const ids = specsOfRelease(this.#context, releases).map(({ id }) => id);
      const [last] = await this.#context.incidents.of(ids, 1);
      if (last !== undefined && last.lines.length > 0 && Date.parse(last.time) >= lstatSync(releases.current).mtimeMs) {
        say(`last lines of "${last.process}":`);
        for (const { text } of last.lines.slice(-LAST_LINES)) say(`  ${printableLine(text.slice(0, LONGEST_LINE))}`);
      }
      throw error;
    }
  }

  async #stop(): Promise<void> {
    const { caller, releases } = this.#run;
    const running = runningOf(this.#context, releases);
    if (running.length === 0) return;
    const { done } = this.#context.actions.act(running, { id: "all", action: "stop", caller });
    await done(this.#options);
  }

  async #gate(): Promise<void> {
    const { releases, signal } = this.#run;
    const { gate } = releases;
    if (gate !== undefined) await keepToGate(this.#context, { ...releases, gate }, signal);
  }
}

/** What a reader sees when a step begins; empty: nothing is to be done, or it says so itself. */
export function stepText(step: DeployStep | undefined, releases: ReleasesSpec): string {
  if (step === undefined || (step === "gate" && releases.gate === undefined)) return "";
  const commands = step === "after-back" ? "after" : step;
  const isEmpty =
    (commands === "prepare" || commands === "before" || commands === "after") && releases[commands].length === 0;
  if (isEmpty) return "";
  return step === "gate" ? `${STEP_TEXTS.gate} for ${duration(releases.gate?.ms ?? 0)}` : STEP_TEXTS[step];
}

/** Most deployments need none. */
const archives = () => import("../../releases/archive.ts");

/** Old releases that are more than are kept, and in which nothing runs any more. `more`: how many will come. */
export function removable({ folder, current, keep }: ReleasesSpec, more = 0): readonly string[] {
  const present = currentRelease(folder, current);
  const old = releaseIds(folder).filter((release) => release !== present);
  const rest = old.slice(Math.max(0, keep - 1 - more));
  const used = pidsIn(rest.map((release) => join(folder, release)));
  return rest.filter((release) => used.get(join(folder, release))?.length === 0);
}

export async function removeOld(
  context: Parameters<typeof mayRunOld>[0],
  releases: ReleasesSpec,
  say: (line: string) => void,
): Promise<void> {
  if (mayRunOld(context, releases)) return;
  for (const release of removable(releases)) {
    say(`removing ${release}`);
    await removeRelease(join(releases.folder, release));
  }
}

/** Whether there are more old releases than are kept: something still runs in them. */
export function hasLeftovers({ folder, keep }: ReleasesSpec): boolean {
  return releaseIds(folder).length > keep;
}

export function makeReleasesFolder({ folder }: ReleasesSpec): void {
  mkdirSync(folder, { recursive: true, mode: 0o755 });
}

/** What a new release gets, checked. @throws Error with the problem */
export async function contentsFor(
  { folder, tarball = "" }: DeployOrder,
  { specs }: Pick<DeployContext, "specs">,
  { folder: own, current }: ReleasesSpec,
): Promise<{ readonly entries: readonly Entry[]; readonly bytes: number }> {
  const without = [own, current, specs.config.stateDir, dirname(specs.config.stateDir)].map(realPlace);
  if (folder !== undefined && realpathSync(folder) === without[0])
    throw new Error('it is the folder of the releases; "procman rollback ID" puts one of them in use');
  const entries =
    folder === undefined
      ? await (await archives()).contentsOfArchive(tarball)
      : await contentsOf(realpathSync(folder), without);
  return { entries, bytes: checkContents(entries) };
}

/** Without the links on the way; the last part may be one, or not be there. */
function realPlace(path: string): string {
  const folder = dirname(path);
  return existsSync(folder) ? join(realpathSync(folder), basename(path)) : path;
}

/** As root: the user of the processes owns the release. */
function ownerFor(spec: ProcessSpec | undefined): { readonly uid: number; readonly gid: number } | undefined {
  const { uid, gid } = spec === undefined ? {} : credentialsOf(spec);
  return uid === undefined || gid === undefined || process.geteuid?.() !== 0 ? undefined : { uid, gid };
}

/** Passes whole lines on. */
class OutputLines {
  readonly #say: (line: string) => void;
  readonly #decoder = new TextDecoder();
  #rest = "";
  last = "";

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  add(chunk: Uint8Array): void {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split(/\r?\n|\r/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) this.#pass(line);
    // A progress bar is a line without end.
    if (this.#rest.length > 4_096) this.end();
  }

  end(): void {
    this.#pass(this.#rest);
    this.#rest = "";
  }

  #pass(line: string): void {
    if (line.trim() === "") return;
    this.last = printableLine(line.slice(0, LONGEST_LINE));
    this.#say(`  ${this.last}`);
  }
}
