/** Sees each transition: says it, keeps pid files, lets the observatory know. */
import type { ProcessSpec } from "../config/spec.ts";
import type { Notice } from "../supervisor/notice.ts";
import type { Transition } from "../supervisor/slot.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { narrate, warn } from "./narrator.ts";
import { narrateNotice } from "./notices.ts";
import type { ServiceObservatory } from "./observatory.ts";
import { keepPidFile, restorePidFile } from "./pid-file.ts";
import type { Voice } from "./voice.ts";

/** Whose transitions these are. */
export type Witnessed = {
  readonly observatory: ServiceObservatory;
  /** Of whoever is behind the load balancer, that hears of it. */
  readonly balancing: { readonly changed: () => void };
  readonly supervisor: Supervisor;
  readonly spec: (slot: string) => ProcessSpec;
};

export class Witness {
  readonly #witnessed: Witnessed;
  readonly #voice: Voice;

  constructor(witnessed: Witnessed, voice: Voice) {
    this.#witnessed = witnessed;
    this.#voice = voice;
  }

  onTransition(transition: Transition): void {
    const { balancing, observatory, supervisor } = this.#witnessed;
    const { slot, from, to } = transition;
    const { id, pidFile, policy, front } = this.#witnessed.spec(slot);
    if (front !== undefined) balancing.changed();
    const problem = pidFile === undefined ? undefined : keepPidFile(pidFile, from, to);
    if (problem !== undefined) this.#voice.say(slot, warn(problem));
    const line = narrate(transition, { policy, blocked: supervisor.find(id).isBlocked });
    if (line !== undefined) this.#voice.say(slot, line);
    observatory.onTransition(transition, line?.text);
  }

  onNotice(id: string, notice: Notice): void {
    const line = narrateNotice(notice);
    this.#voice.say(id, line);
    this.#witnessed.observatory.onNotice(id, notice, line.text);
  }

  checkPidFile(id: string): void {
    const { supervisor } = this.#witnessed;
    const problem = restorePidFile(this.#witnessed.spec(id).pidFile, supervisor.find(id).states);
    if (problem !== undefined) this.#voice.say(id, warn(problem));
  }
}
