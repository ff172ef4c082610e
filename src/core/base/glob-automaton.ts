/** Matches a pattern in a time that grows with the lengths of pattern and path only: it follows all ways at once. */

/** Whether a UTF-16 unit of the path fits. */
export type UnitTest = (unit: string) => boolean;

type Edge = { readonly to: number; readonly test: UnitTest };

const isSlash: UnitTest = (unit) => unit === "/";
const isAny: UnitTest = () => true;

export class GlobAutomaton {
  /** By state. State 0 is the beginning. */
  readonly #edges: Edge[][] = [[]];
  /** States that are reached without a unit of the path. */
  readonly #skips: number[][] = [[]];
  #end = 0;
  readonly #open: { readonly from: number; readonly to: number }[] = [];

  one(test: UnitTest): void {
    const to = this.#newState();
    this.#edges[this.#end]?.push({ to, test });
    this.#end = to;
  }

  /** Any number of these. */
  any(test: UnitTest): void {
    const state = this.#newState();
    this.#skip(this.#end, state);
    this.#edges[state]?.push({ to: state, test });
    this.#end = state;
  }

  /** Nothing, or folders with a slash behind them. */
  folders(): void {
    const from = this.#end;
    this.any(isAny);
    this.one(isSlash);
    this.#skip(from, this.#end);
  }

  /** Nothing, or a slash and anything. */
  belowOrSelf(): void {
    const from = this.#end;
    this.one(isSlash);
    this.any(isAny);
    this.#skip(from, this.#end);
  }

  alternatives(brace: "{" | "," | "}"): void {
    if (brace === "{") return void this.#open.push({ from: this.#end, to: this.#newState() });
    const group = this.#open.at(-1);
    if (group === undefined) return;
    this.#skip(this.#end, group.to);
    if (brace === "}") this.#open.pop();
    this.#end = brace === "," ? group.from : group.to;
  }

  matches(path: string): boolean {
    let states = this.#reached([0]);
    for (let at = 0; at < path.length && states.size > 0; at += 1) {
      const unit = path[at] as string;
      const next: number[] = [];
      for (const state of states) for (const { to, test } of this.#edges[state] ?? []) if (test(unit)) next.push(to);
      states = this.#reached(next);
    }
    return states.has(this.#end);
  }

  #reached(from: readonly number[]): ReadonlySet<number> {
    const states = new Set(from);
    // A set visits what is added meanwhile, too.
    for (const state of states) for (const to of this.#skips[state] ?? []) states.add(to);
    return states;
  }

  #newState(): number {
    this.#skips.push([]);
    return this.#edges.push([]) - 1;
  }

  #skip(from: number, to: number): void {
    this.#skips[from]?.push(to);
  }
}
