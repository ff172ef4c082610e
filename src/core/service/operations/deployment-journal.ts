/** What is known of deployments: the records on disk, the lines of the latest one, and readers that wait for more. */
import { compact } from "../../base/compact.ts";
import { type ErrorCode, ProcmanError, reasonOf } from "../../base/errors.ts";
import type { DeploymentQuery } from "../../contract/control.ts";
import type { DeploymentRecord } from "../../contract/deployment-record.ts";
import { DeploymentStore, type StoredDeployment } from "../../releases/deployment-store.ts";
import { News } from "./news.ts";
import type { OperationContext } from "./operation-context.ts";

/** Lines of a deployment that are kept for readers; the log has all. */
const MAX_LINES = 5_000;

export class DeploymentJournal {
  readonly #log: OperationContext["log"];
  readonly #store: DeploymentStore;
  /** The one under way, or the last one of this service. */
  #latest: StoredDeployment | undefined;
  #lines: string[] = [];
  /** Number of the first of `#lines`. */
  #dropped = 0;
  readonly #news = new News();

  constructor({ log, specs }: Pick<OperationContext, "log" | "specs">) {
    this.#log = log;
    this.#store = new DeploymentStore(specs.config.stateDir);
  }

  get latest(): StoredDeployment | undefined {
    return this.#latest;
  }

  /** Returns the number of a new one, which has no lines yet. */
  start(): number {
    this.#lines = [];
    this.#dropped = 0;
    return (this.#store.numbers[0] ?? 0) + 1;
  }

  /** @throws errors of the file system */
  write(deployment: StoredDeployment): void {
    this.#store.write(deployment);
    this.#latest = deployment;
  }

  say(line: string): void {
    this.#lines.push(line);
    this.#log.info(`deploy: ${line}`);
    if (this.#lines.length > MAX_LINES) {
      this.#lines.shift();
      this.#dropped += 1;
    }
    this.wake();
  }

  finish(): void {
    this.#store.prune();
    this.wake();
  }

  /** Readers that wait get what there is. */
  wake(): void {
    this.#news.tell();
  }

  /** Newest first, without those that can't be read: they are named where they are asked for. */
  all(): readonly StoredDeployment[] {
    return this.#store.numbers.flatMap((number) => {
      try {
        return this.#store.read(number) ?? [];
      } catch {
        return [];
      }
    });
  }

  /** The last one, also of an earlier service. @throws Error: it can't be read */
  last(): StoredDeployment | undefined {
    const [number] = this.#store.numbers;
    return number === undefined ? undefined : this.#store.read(number);
  }

  /** `id`: a number, or `latest`. Waits for lines after `after`, or the end. @throws {ProcmanError} `release-unknown` */
  async deployment(id: string, { after, waitSeconds, signal }: DeploymentQuery = {}): Promise<DeploymentRecord> {
    const deployment = this.#found(id);
    const isLatest = deployment.number === this.#latest?.number;
    const known = this.#dropped + this.#lines.length;
    // A greater number is of a service before this one.
    const from = after === undefined || after > known ? 0 : after;
    const isNews = (): boolean =>
      this.#latest?.progress.step === undefined || this.#dropped + this.#lines.length > from;
    if (isLatest && waitSeconds !== undefined && !isNews())
      await this.#news.next({ waitSeconds, ...(signal && { signal }) });
    return recordOf(
      this.#found(id),
      isLatest ? this.#lines.slice(Math.max(0, from - this.#dropped)) : [],
      this.#dropped + this.#lines.length,
    );
  }

  #found(id: string): StoredDeployment {
    try {
      const number = id === "latest" ? this.#store.numbers[0] : Number(id);
      const found = number === this.#latest?.number ? this.#latest : number && this.#store.read(number);
      if (found) return found;
    } catch (error) {
      throw deployRefused(reasonOf(error), "release-unknown", "show the deployment");
    }
    throw deployRefused(
      id === "latest" ? "there was none yet" : "there is none of this number",
      "release-unknown",
      `show the deployment ${JSON.stringify(id.slice(0, 40))}`,
    );
  }
}

export function deployRefused(why: string, code: ErrorCode = "deploy-refused", what = "deploy"): ProcmanError {
  return new ProcmanError(code, `Cannot ${what}: ${why}`);
}

export function recordOf(
  {
    number,
    release,
    before,
    source,
    progress: { result, problem, step },
    time,
    ended,
    consumer,
    user,
    rollout,
  }: StoredDeployment,
  lines: readonly string[],
  next: number,
): DeploymentRecord {
  const outcome = { result, problem, step, time, ended };
  return compact({ number, release, before, source, ...outcome, consumer, user, rollout, lines, next });
}
