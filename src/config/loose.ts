/** Data of which only a part has the right shape, so that the checks can speak about the rest of it. */
import type { Path } from "./document.ts";
import type { Finding } from "./finding.ts";
import type { RawConfig, RawProcess } from "./schema.ts";

/** Any part may be missing. */
export type Loose<T> = T extends readonly (infer Item)[]
  ? readonly (Loose<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: Loose<T[Key]> | undefined }
    : T;

export type LooseConfig = Loose<RawConfig>;
export type LooseProcess = Loose<RawProcess>;

/** The data without the values whose shape is wrong: these become undefined, their keys stay. */
export function loosen(data: unknown, findings: readonly Finding[]): LooseConfig | undefined {
  const wrong = findings.filter(({ at }) => at === undefined);
  return wrong.reduce((rest, { path }) => without(rest, path), data) as LooseConfig | undefined;
}

function without(data: unknown, [step, ...rest]: Path): unknown {
  if (step === undefined || typeof data !== "object" || data === null) return undefined;
  if (Array.isArray(data)) return data.map((item, index) => (index === step ? without(item, rest) : item));
  return { ...data, [step]: without((data as Record<string | number, unknown>)[step], rest) };
}
