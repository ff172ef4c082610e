/** Which program has the port of a run that has ended: the port is known from the specification, or from its last lines. */
import type { RunMarker } from "../../base/run-marker.ts";
import { variablesIfThere } from "../../config/run-variables.ts";
import type { ProcessSpec } from "../../config/spec.ts";
import type { LogEntry } from "../../contract/records.ts";
import { type PortClues, takenPorts } from "../../incidents/taken-port.ts";
import type { RunKey } from "../../ipc/keeper-protocol.ts";
import { holderBeside, listensOn, named } from "../../os/port-owner.ts";
import { processEnvironment } from "../../os/process-stat.ts";
import { isGenuine } from "../../os/process-tree.ts";
import type { Occupied } from "../../supervisor/states.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import { isRunning } from "../../supervisor/verdict.ts";
import type { Services } from "../services.ts";
import { processOf } from "../spec-registry.ts";
import { type InstancePort, portOf } from "./port-conflicts.ts";

/** Most instances that are looked at. */
const MAX_SIBLINGS = 8;

export class TakenPorts {
  readonly #services: Pick<Services, "specs" | "markers">;
  readonly #statesOf: Supervisor["statesOf"];
  /** Ports that the last run wanted in vain, as its lines said. Another specification may have another port. */
  readonly #wanted = new WeakMap<ProcessSpec, number>();

  constructor(services: Pick<Services, "specs" | "markers">, statesOf: Supervisor["statesOf"]) {
    this.#services = services;
    this.#statesOf = statesOf;
  }

  /** The program that holds the port of a run that has just failed, and is not part of that run. */
  of(ended: RunKey): Occupied | undefined {
    const spec = this.#services.specs.of(ended.slot);
    const port = portOf(spec) ?? this.#wanted.get(spec);
    if (port === undefined) return undefined;
    const holder = this.#holder(port, spec, ended);
    return holder ?? (portOf(spec) === undefined ? undefined : siblingPort(port, this.#siblingsOf(spec)));
  }

  /** The same for the port that its last lines name. It is looked at after later ends, too. */
  inLines(ended: RunKey, lines: readonly Pick<LogEntry, "text">[]): Occupied | undefined {
    const spec = this.#services.specs.find(ended.slot);
    if (spec === undefined) return undefined;
    const texts = lines.map(({ text }) => text);
    for (const port of takenPorts(texts, cluesOf(spec))) {
      const holder = this.#holder(port, spec, ended);
      if (holder === undefined) continue;
      this.#wanted.set(spec, port);
      return holder;
    }
    this.#wanted.delete(spec);
    return undefined;
  }

  #holder(port: number, spec: ProcessSpec, { slot, run }: RunKey): Occupied | undefined {
    const { markers } = this.#services;
    const markerOf = (pid: number): RunMarker | undefined => markers.in(processEnvironment(pid) ?? "");
    const isOwn = (pid: number): boolean => {
      const marker = markerOf(pid);
      // A later run of it may have got the port meanwhile.
      return marker?.slot === slot && marker.run >= run && isGenuine(pid, marker, () => spec.user?.uid);
    };
    const holder = holderBeside(port, isOwn);
    if (holder === undefined) return undefined;
    const marker = markerOf(holder.pid ?? 0);
    const process = marker && processOf(marker.slot);
    const own = spec.cluster?.port;
    const isSibling =
      own !== undefined && own !== port && this.#siblingsOf(spec).some((each) => each.spec.id === process);
    const isChosen = port === this.#services.specs.config.chosenPorts?.[spec.id];
    return {
      port,
      by: holder.by,
      ...(process && { process }),
      ...(isSibling && { own }),
      ...(isChosen && { chosen: true }),
    };
  }

  /** The other instances of its cluster that run. */
  #siblingsOf({ id, cluster }: ProcessSpec): readonly InstancePort[] {
    if (cluster === undefined) return [];
    return this.#services.specs.config.processes.flatMap((spec) => {
      const [state] = spec.cluster?.id === cluster.id && spec.id !== id ? this.#statesOf(spec.id) : [];
      return isRunning(state) ? [{ spec, pid: state.pid }] : [];
    });
  }
}

/** Another instance that listens elsewhere than on its own port: both have the same program, which may want the same port. */
function siblingPort(own: number, siblings: readonly InstancePort[]): Occupied | undefined {
  for (const { spec, pid } of siblings.slice(0, MAX_SIBLINGS)) {
    const ports = listensOn(pid);
    const [port] = ports.includes(String(spec.cluster?.port)) ? [] : ports.filter((each) => /^\d+$/.test(each));
    if (port !== undefined) return { port: Number(port), by: named(pid), process: spec.id, own };
  }
  return undefined;
}

function cluesOf(spec: ProcessSpec): PortClues {
  const { command, ready } = spec;
  const { PORT } = variablesIfThere(spec);
  return {
    port: portOf(spec) ?? (ready?.kind === "http" ? ready.port : undefined),
    command: command.kind === "shell" ? command.line : command.args.join(" "),
    ...(PORT !== undefined && { variable: PORT }),
  };
}
