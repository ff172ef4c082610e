/** The rollout over several hosts that this one takes part in: `STATE/rollout.json`, replaced as a whole with every step, and there after a power cut. */
import { join } from "node:path";
import { isNotFound, reasonOf } from "../base/errors.ts";
import { boolean, integer, literal, object, openObject, optional, string, type TypeOf } from "../base/schema.ts";
import { matches } from "../base/schema-check.ts";
import { ROLLOUT } from "../contract/rollout-record.ts";
import { readWhole, writeWhole } from "../os/careful-files.ts";

/** What there was before, and what says whether a step that a killed service had begun was carried out. */
const BEFORE = object({
  /** Entries of the history: in force, and the newest. */
  entry: optional(integer()),
  newest: optional(integer()),
  release: optional(string()),
  deployment: optional(integer()),
  instances: optional(integer()),
  /** The cluster was scaled by its load. */
  isAuto: optional(boolean()),
});

const STORED = openObject({
  format: literal("1"),
  record: ROLLOUT,
  /** Whether the requests of `consumer` have come by the Unix socket of procman's own user. */
  isOwner: boolean(),
  before: optional(BEFORE),
  /** The same at the beginning of the present step. */
  marks: optional(BEFORE),
});

export type RolloutBefore = TypeOf<typeof BEFORE>;
export type StoredRollout = TypeOf<typeof STORED>;

export class RolloutStore {
  readonly #path: string;

  constructor(stateDir: string) {
    this.#path = join(stateDir, "rollout.json");
  }

  /** undefined: there was none yet. @throws Error: it can't be read */
  read(): StoredRollout | undefined {
    let value: unknown;
    try {
      value = JSON.parse(readWhole(this.#path).toString());
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw new Error(`${this.#path} can't be read: ${reasonOf(error)}`);
    }
    if (!matches(value, STORED)) throw new Error(`${this.#path} has no valid content`);
    return value;
  }

  /** @throws errors of the file system */
  write(rollout: StoredRollout): void {
    writeWhole(this.#path, `${JSON.stringify(rollout)}\n`, { isDurable: true });
  }
}
