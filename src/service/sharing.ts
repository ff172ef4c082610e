/** Tells the keeper which shared sockets are to be held: those of clusters of which anything runs, or is about to. */
import type { Config } from "../config/spec.ts";
import type { Listening } from "../contract/keeper-protocol.ts";
import type { Link } from "../runtime/link.ts";
import type { Supervisor } from "../supervisor/supervisor.ts";
import type { Part } from "./part.ts";

export type Shared = { readonly config: Config; readonly supervisor: Pick<Supervisor, "processes"> };

export class Sharing implements Part {
  readonly #shared: Shared;
  readonly #link: Pick<Link, "send">;
  #isChanged = false;
  #isClosed = false;
  /** What the keeper was told last. */
  #told: string | undefined;

  constructor(shared: Shared, link: Pick<Link, "send">) {
    this.#shared = shared;
    this.#link = link;
  }

  /** A service before this one may have been killed before it told of a stop. */
  resume(): void {
    this.changed();
  }

  apply(): void {
    this.changed();
  }

  /** An instance rests, or doesn't any more. What one turn brings is told at once: in a restart nobody rests. */
  changed(): void {
    if (this.#isChanged) return;
    this.#isChanged = true;
    setImmediate(() => {
      this.#isChanged = false;
      if (!this.#isClosed) this.#tell();
    });
  }

  /** Whoever comes from now on shall not wait for instances that are about to end. */
  end(): void {
    this.#tell([]);
    this.#isClosed = true;
  }

  retire(): void {
    this.#isClosed = true;
  }

  #tell(wanted = this.#wanted): void {
    const now = JSON.stringify(wanted);
    if (now === this.#told) return;
    this.#told = now;
    this.#link.send({ t: "sockets", wanted });
  }

  get #wanted(): readonly Listening[] {
    const awake = new Set(
      this.#shared.supervisor.processes.filter(({ states }) => states.some(({ status }) => status !== "idle")).map(({ id }) => id),
    );
    const wanted = this.#shared.config.processes.flatMap(({ id, share }) => (share !== undefined && awake.has(id) ? [share] : []));
    return [...new Map(wanted.map((share) => [JSON.stringify(share), share])).values()];
  }
}
