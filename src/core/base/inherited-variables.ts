/** Which variables of procman's own environment a run inherits. */

/** A name that ends with `*` stands for all names that begin like it. */
export type Inheritance = {
  /** Only these. */
  readonly only?: readonly string[];
  /** All but these. */
  readonly without?: readonly string[];
};

type Variables = Readonly<Record<string, string | undefined>>;

/** @example inheritedVariables({ PATH: "/bin", KEY: "x" }, { without: ["KEY"] }) // { PATH: "/bin" } */
export function inheritedVariables(environment: Variables, { only, without = [] }: Inheritance = {}): Variables {
  if (only === undefined && without.length === 0) return environment;
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => (only === undefined || isIn(only, name)) && !isIn(without, name)),
  );
}

export function isIn(names: readonly string[], name: string): boolean {
  return names.some((each) => (each.endsWith("*") ? name.startsWith(each.slice(0, -1)) : name === each));
}
