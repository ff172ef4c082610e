/** Sees each transition: says it, keeps pid files, lets the observatory know. */
import type { ProcessSpec } from "../config/spec.ts";
import type { Notice } from "../supervisor/notice.ts";
import type { Transition } from "../supervisor/slot.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { MemoryWatch, type Samples } from "./memory-watch.ts";
import { narrate, warn } from "./narrator.ts";
import { narrateNotice } from "./notices.ts";
import type { ServiceObservatory } from "./observatory.ts";
import { keepPidFile, restorePidFile } from "./pid-file.ts";
import { type Probed, Probing } from "./probing.ts";
import type { Voice } from "./voice.ts";

/** Whose transitions these are. */
export type Witnessed = Probed & {
  readonly observatory: ServiceObservatory;
  /** Of whoever is behind the load balancer, that hears of it. */
  readonly balancing: { readonly changed: () => void };
  /** Of whoever shares a socket, that hears of it. */
  readonly sharing: { readonly changed: () => void };
  readonly supervisor: Supervisor;
  readonly spec: (slot: string) => ProcessSpec;
};

export class Witness {
  readonly #witnessed: Witnessed;
  readonly #voice: Voice;
  readonly #probing: Probing;
  readonly #memory: MemoryWatch;

  constructor(witnessed: Witnessed, voice: Voice) {
    this.#witnessed = witnessed;
    this.#voice = voice;
    this.#probing = new Probing(witnessed);
    this.#memory = new MemoryWatch(witnessed);
  }

  onTransition(transition: Transition): void {
    const { balancing, sharing, observatory } = this.#witnessed;
    const { slot, from, to } = transition;
    const { id, pidFile, front, share } = this.#witnessed.spec(slot);
    if (front !== undefined) balancing.changed();
    if (share !== undefined) sharing.changed();
    const problem = pidFile === undefined ? undefined : keepPidFile(pidFile, from, to);
    if (problem !== undefined) this.#voice.say(slot, warn(problem));
    const line = narrate(transition, observatory.subject(id));
    if (line !== undefined) this.#voice.say(slot, line);
    observatory.onTransition(transition, line?.text);
    this.#probing.look(slot, to);
  }

  onSamples(samples: Samples): void {
    this.#memory.weigh(samples);
  }

  onNotice(id: string, notice: Notice): void {
    const line = narrateNotice(notice);
    this.#voice.say(id, line);
    this.#witnessed.observatory.onNotice(id, notice, line.text);
  }

  /** The configuration may be another one, or another service was there before. */
  check(id: string): void {
    const process = this.#witnessed.supervisor.find(id);
    const problem = restorePidFile(this.#witnessed.spec(id).pidFile, process.states);
    if (problem !== undefined) this.#voice.say(id, warn(problem));
    for (const { slot, state } of process.runs) this.#probing.look(slot, state);
  }

  /** Another service, or nobody, looks from now on. */
  retire(): void {
    this.#probing.stop();
    this.#witnessed.observatory.close();
  }
}
