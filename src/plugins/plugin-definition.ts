/** Whether what a module exports is a plugin, and whether the options are those that it wants. */
import type { ErrorPlace } from "../base/errors.ts";
import type { JsonSchema } from "../base/schema.ts";
import { faultsOf } from "../base/schema-check.ts";
import type { Plugin, StandardSchema } from "./plugin.ts";

/** Why a plugin can't be started: a sentence for its user. */
export class OptionsError extends Error {
  /** What is wrong with its options; places as `options.to`. */
  readonly faults: readonly ErrorPlace[];

  constructor(message: string, faults: readonly ErrorPlace[] = []) {
    super(message);
    this.faults = faults;
  }
}

/** @throws {OptionsError} it is none */
export function pluginIn(exported: unknown): Plugin<never> {
  const found = inner(exported);
  if (typeof found !== "object" || found === null) throw refusal("its default export is missing");
  const { name, version, setup, schema } = found as Partial<Plugin<never>>;
  if (typeof name !== "string" || name === "") throw refusal('its default export has no "name"');
  if (typeof version !== "string" || version === "") throw refusal('its default export has no "version"');
  if (typeof setup !== "function") throw refusal('its default export has no function "setup"');
  if (schema !== undefined && (typeof schema !== "object" || schema === null)) throw refusal('its "schema" is no schema');
  return found as Plugin<never>;
}

/** @throws {OptionsError} with what is wrong */
export async function optionsFor(
  { schema }: Pick<Plugin<never>, "schema">,
  options: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  if (schema === undefined) return options;
  if (!("~standard" in schema)) return checked(options, schema);
  const outcome = await (schema as StandardSchema<Readonly<Record<string, unknown>>>)["~standard"].validate(options);
  if (outcome.issues === undefined) return outcome.value;
  throw refusalOfFaults(outcome.issues.map(({ message, path = [] }) => ({ place: `options${path.map(shownStep).join("")}`, message })));
}

function checked(options: Readonly<Record<string, unknown>>, schema: JsonSchema): Readonly<Record<string, unknown>> {
  const faults = faultsOf(options, schema, "options");
  if (faults.length > 0) throw refusalOfFaults(faults);
  return options;
}

function refusalOfFaults(faults: readonly ErrorPlace[]): OptionsError {
  return new OptionsError("its options are not valid", faults);
}

function refusal(why: string): OptionsError {
  return new OptionsError(`${why}; a plugin's module ends with \`export default definePlugin({ name, version, setup })\``);
}

/** A module in CommonJS has its default export inside of that. */
function inner(exported: unknown): unknown {
  return typeof exported === "object" && exported !== null && "default" in exported ? exported.default : exported;
}

/** Standard Schema has keys, or objects with a key. */
function shownStep(step: unknown): string {
  const key = typeof step === "object" && step !== null && "key" in step ? step.key : step;
  return typeof key === "number" ? `[${key}]` : `.${String(key)}`;
}
