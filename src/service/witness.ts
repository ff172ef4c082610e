/** Sees each transition: says it, keeps pid files, lets the observatory know. */
import type { ProcessSpec } from "../config/spec.ts";
import type { Notice } from "../supervisor/notice.ts";
import type { Transition } from "../supervisor/slot.ts";
import { initial } from "../supervisor/states.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { narrate, warn } from "./narrator.ts";
import { narrateNotice } from "./notices.ts";
import type { ServiceObservatory } from "./observatory.ts";
import { keepPidFile } from "./pid-file.ts";
import type { Voice } from "./voice.ts";

export type WitnessPorts = {
  readonly voice: Voice;
  readonly observatory: ServiceObservatory;
  readonly spec: (slot: string) => ProcessSpec;
  readonly supervisor: () => Supervisor;
};

export class Witness {
  readonly #ports: WitnessPorts;

  constructor(ports: WitnessPorts) {
    this.#ports = ports;
  }

  onTransition(transition: Transition): void {
    const { voice, observatory, spec, supervisor } = this.#ports;
    const { slot, from, to } = transition;
    const { id, pidFile, policy } = spec(slot);
    const problem = pidFile === undefined ? undefined : keepPidFile(pidFile, from, to);
    if (problem !== undefined) voice.say(slot, warn(problem));
    const line = narrate(transition, { policy, blocked: supervisor().find(id).isBlocked });
    if (line !== undefined) voice.say(slot, line);
    observatory.onTransition(transition, line?.text);
  }

  onNotice(id: string, notice: Notice): void {
    const line = narrateNotice(notice);
    this.#ports.voice.say(id, line);
    this.#ports.observatory.onNotice(id, notice, line.text);
  }

  /** Who was killed while a process came up has written no pid file. */
  checkPidFile(id: string): void {
    const { voice, spec, supervisor } = this.#ports;
    const { pidFile } = spec(id);
    if (pidFile === undefined) return;
    const state = supervisor()
      .find(id)
      .states.find(({ status }) => status === "running");
    const problem = state === undefined ? undefined : keepPidFile(pidFile, initial, state);
    if (problem !== undefined) voice.say(id, warn(problem));
  }
}
