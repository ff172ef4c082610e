/** How a service takes up what the one before it has left: each process in its state, by the configuration that it had. */
import type { Config, ProcessSpec } from "../config/spec.ts";
import type { Link } from "../runtime/link.ts";
import type { KeeperSpawner } from "../runtime/spawner.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import { narratePast } from "./notices.ts";
import type { Past } from "./recall.ts";
import { planOf } from "./specs.ts";
import type { Voice } from "./voice.ts";

export type Successor = {
  readonly supervisor: Supervisor;
  readonly spawner: KeeperSpawner;
  readonly link: Link;
  readonly voice: Voice;
  /** Of a process or one of its slots, by the former configuration. */
  readonly spec: (slot: string) => ProcessSpec;
};

export function takeUp(past: Past, config: Config, { supervisor, spawner, link, voice, spec }: Successor): void {
  const { former, memories, takenUp, damaged, leftovers } = past;
  const named = new Set(config.processes.map(({ id }) => id));
  for (const { id, line } of narratePast(past, named)) voice.say(id, line);
  for (const id of damaged) link.forget(id);
  for (const { slot } of takenUp) link.remember(spec(slot).id, memories.get(spec(slot).id));
  for (const { slot, run } of leftovers) spawner.signal(slot, run, "SIGKILL");
  const plans = [...former.config.processes, ...former.leaving].map(planOf);
  supervisor.resume(plans, memories, new Set(former.leaving.map(({ id }) => id)));
}
