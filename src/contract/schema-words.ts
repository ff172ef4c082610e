/** What the schemas of records are written with. */
import type { JsonSchema } from "./json-schema.ts";

type Members<T> = Readonly<Record<keyof T, JsonSchema>>;

export const text = (description: string): JsonSchema => ({ type: "string", description });
export const whole = (description: string): JsonSchema => ({ type: "integer", description });
export const number = (description: string): JsonSchema => ({ type: "number", description });
export const truth = (description: string): JsonSchema => ({ type: "boolean", description });
export const time = (description: string): JsonSchema => ({ type: "string", format: "date-time", description });
export const named = (name: string, description?: string): JsonSchema => ({
  $ref: `#/components/schemas/${name}`,
  ...(description && { description }),
});
export const listOf = (name: string, description: string): JsonSchema => ({ type: "array", items: named(name), description });

export function record<T>(description: string, optional: readonly (keyof T & string)[], properties: Members<T>): JsonSchema {
  const required = Object.keys(properties).filter((name) => !(optional as readonly string[]).includes(name));
  return { type: "object", description, required, properties };
}
