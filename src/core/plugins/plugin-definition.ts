/** Checks that a module exports a plugin, and that the options match its schema. */
import type { ErrorPlace } from "../base/errors.ts";
import type { JsonSchema } from "../base/schema.ts";
import { faultsOf } from "../base/schema-check.ts";
import type { Plugin, StandardSchema } from "./plugin.ts";

/** A plugin can't be started; the message is a sentence for the user. */
export class OptionsError extends Error {
  /** What is wrong with its options; places like `options.to`. */
  readonly faults: readonly ErrorPlace[];

  constructor(message: string, faults: readonly ErrorPlace[] = []) {
    super(message);
    this.faults = faults;
  }
}

/** @throws {OptionsError} if it exports no plugin */
export function pluginIn(exported: unknown): Plugin<never> {
  const plugin = defaultExport(exported);
  if (typeof plugin !== "object" || plugin === null) throw refusal("its default export is missing");
  const { name, version, setup, schema } = plugin as Partial<Plugin<never>>;
  if (typeof name !== "string" || name === "") throw refusal('its default export has no "name"');
  if (typeof version !== "string" || version === "") throw refusal('its default export has no "version"');
  if (typeof setup !== "function") throw refusal('its default export has no function "setup"');
  if (schema !== undefined && (typeof schema !== "object" || schema === null))
    throw refusal('its "schema" is not a schema');
  return plugin as Plugin<never>;
}

/** The options as the schema returns them. @throws {OptionsError} with all faults */
export async function optionsFor(
  { schema }: Pick<Plugin<never>, "schema">,
  options: Readonly<Record<string, unknown>>,
): Promise<Readonly<Record<string, unknown>>> {
  if (schema === undefined) return options;
  if (!("~standard" in schema)) return checkedOptions(options, schema);
  const outcome = await (schema as StandardSchema<Readonly<Record<string, unknown>>>)["~standard"].validate(options);
  if (outcome.issues === undefined) return outcome.value;
  throw refusalOfFaults(
    outcome.issues.map(({ message, path = [] }) => ({ place: `options${path.map(pathStep).join("")}`, message })),
  );
}

function checkedOptions(
  options: Readonly<Record<string, unknown>>,
  schema: JsonSchema,
): Readonly<Record<string, unknown>> {
  const faults = faultsOf(options, schema, "options");
  if (faults.length > 0) throw refusalOfFaults(faults);
  return options;
}

function refusalOfFaults(faults: readonly ErrorPlace[]): OptionsError {
  return new OptionsError("its options are not valid", faults);
}

function refusal(why: string): OptionsError {
  return new OptionsError(
    `${why}; a plugin's module ends with \`export default definePlugin({ name, version, setup })\``,
  );
}

/** The default export of a CommonJS module is nested in that. */
function defaultExport(exported: unknown): unknown {
  return typeof exported === "object" && exported !== null && "default" in exported ? exported.default : exported;
}

/** A step of a Standard Schema path is a key, or an object with a key. */
function pathStep(step: unknown): string {
  const key = typeof step === "object" && step !== null && "key" in step ? step.key : step;
  return typeof key === "number" ? `[${key}]` : `.${String(key)}`;
}
