/** What the configuration file has that is not applied: looked at again after a change of the file, or of what is applied. */
import { ProcmanError } from "../../base/errors.ts";
import type { Config } from "../../config/spec.ts";
import { isChange, type PlanRecord } from "../../contract/plan.ts";
import type { StateRecord } from "../../contract/state-record.ts";
import { ConfigFileWatch } from "../config/config-file-watch.ts";

export class UnappliedChanges {
  readonly #file: ConfigFileWatch;
  readonly #plan: () => PlanRecord;
  #seen: { readonly stamp: string; readonly config: Config; readonly unapplied: StateRecord["unapplied"] } | undefined;

  /** `plan`: of the file as it is. */
  constructor(file: string, plan: () => PlanRecord) {
    this.#file = new ConfigFileWatch(file, () => undefined);
    this.#plan = plan;
  }

  /** `config`: what is applied. Undefined: the file has nothing else, or is missing. */
  lookAt(config: Config): StateRecord["unapplied"] {
    const stamp = this.#file.current;
    if (stamp === "") return undefined;
    if (this.#seen?.stamp !== stamp || this.#seen.config !== config)
      this.#seen = { stamp, config, unapplied: this.#found() };
    return this.#seen.unapplied;
  }

  #found(): StateRecord["unapplied"] {
    try {
      const { settings, processes } = this.#plan();
      const isSet = settings.some(({ takesEffect }) => takesEffect === "in-place");
      return isSet || processes.some(isChange) ? "changes" : undefined;
    } catch (error) {
      if (!(error instanceof ProcmanError)) throw error;
      return "invalid";
    }
  }
}
