/** Data without its invalid values, so that the other checks can run on the rest. */
import type { RawConfig, RawProcess } from "./config-schema.ts";
import type { JsonPath } from "./document.ts";
import type { Finding } from "./problems.ts";

/** Any part may be missing. */
export type DeepPartial<T> = T extends readonly (infer Item)[]
  ? readonly (DeepPartial<Item> | undefined)[]
  : T extends object
    ? { readonly [Key in keyof T]?: DeepPartial<T[Key]> | undefined }
    : T;

export type PartialConfig = DeepPartial<RawConfig>;
export type PartialProcess = DeepPartial<RawProcess>;

/** Replaces the invalid values by undefined; their keys stay. */
export function dropInvalid(data: unknown, findings: readonly Finding[]): PartialConfig | undefined {
  const wrong = findings.filter(({ at }) => at === undefined);
  return wrong.reduce((rest, { path }) => without(rest, path), data) as PartialConfig | undefined;
}

function without(data: unknown, [step, ...rest]: JsonPath): unknown {
  if (step === undefined || typeof data !== "object" || data === null) return undefined;
  if (Array.isArray(data)) return data.map((item, index) => (index === step ? without(item, rest) : item));
  return { ...data, [step]: without((data as Record<string | number, unknown>)[step], rest) };
}
