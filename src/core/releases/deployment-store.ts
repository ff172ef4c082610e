/** The deployments on disk: `STATE/deployments/NUMBER.json`, each replaced as a whole with every step, and there after a power cut. */
import { rmSync } from "node:fs";
import { join } from "node:path";
import { reasonOf } from "../base/errors.ts";
import { boolean, enumeration, integer, literal, openObject, optional, string, type TypeOf } from "../base/schema.ts";
import { matches } from "../base/schema-check.ts";
import { DEPLOY_ORDER, DEPLOY_STEPS } from "../contract/deployment-record.ts";
import { ROLLOUT_MARK } from "../contract/rollout-mark.ts";
import { readWhole, removeUnfinished, writeWhole } from "../os/careful-files.ts";
import { makeFolder, namesIfSeen } from "../os/files.ts";

const MAX_KEPT = 100;

const DEPLOYMENT = openObject({
  format: literal("1"),
  number: integer({ minimum: 1 }),
  release: string(),
  /** Where the link led, as it was written; absent: there was none. */
  target: optional(string()),
  before: optional(string()),
  order: DEPLOY_ORDER,
  /** The entry of the history whose texts go back with the release, and the profile of before. */
  restores: optional(
    openObject({ number: integer({ minimum: 1 }), profile: optional(string()), profileBefore: optional(string()) }),
  ),
  /** The one that `order.ref` has named. */
  commit: optional(string()),
  source: string(),
  consumer: string(),
  user: optional(string()),
  rollout: optional(ROLLOUT_MARK),
  time: string(),
  ended: optional(string()),
  progress: openObject({
    step: optional(enumeration(DEPLOY_STEPS)),
    isBegun: boolean(),
    result: enumeration(["running", "done", "failed", "taken-back"]),
    problem: optional(string()),
  }),
});

export type StoredDeployment = TypeOf<typeof DEPLOYMENT>;

export class DeploymentStore {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, "deployments");
  }

  /** Newest first. */
  get numbers(): readonly number[] {
    return namesIfSeen(this.#folder)
      .flatMap((name) => (/^[1-9]\d{0,14}\.json$/.test(name) ? [Number.parseInt(name, 10)] : []))
      .sort((one, other) => other - one);
  }

  /** undefined: there is none of this number. @throws Error: it can't be read */
  read(number: number): StoredDeployment | undefined {
    if (!this.numbers.includes(number)) return undefined;
    const path = this.#pathOf(number);
    let value: unknown;
    try {
      value = JSON.parse(readWhole(path).toString());
    } catch (error) {
      throw new Error(`${path} can't be read: ${reasonOf(error)}`);
    }
    if (!matches(value, DEPLOYMENT)) throw new Error(`${path} has no valid content`);
    return value;
  }

  /** @throws errors of the file system */
  write(deployment: StoredDeployment): void {
    makeFolder(this.#folder, 0o700);
    writeWhole(this.#pathOf(deployment.number), `${JSON.stringify(deployment)}\n`, { isDurable: true });
  }

  prune(): void {
    for (const number of this.numbers.slice(MAX_KEPT)) rmSync(this.#pathOf(number), { force: true });
    removeUnfinished(this.#folder);
  }

  #pathOf(number: number): string {
    return join(this.#folder, `${number}.json`);
  }
}
