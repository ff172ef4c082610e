/** Whether data that somebody else wrote has the shape it should have. Members that nobody asks for are allowed. */

export type Shape = (value: unknown) => boolean;

export const text: Shape = (value) => typeof value === "string";
export const truth: Shape = (value) => typeof value === "boolean";
export const number: Shape = Number.isFinite;
/** 0, 1, 2 … */
export const count: Shape = (value) => Number.isSafeInteger(value) && (value as number) >= 0;

export function literal(...values: readonly unknown[]): Shape {
  return (value) => values.includes(value);
}

export function either(...shapes: readonly Shape[]): Shape {
  return (value) => shapes.some((shape) => shape(value));
}

export function optional(shape: Shape): Shape {
  return (value) => value === undefined || shape(value);
}

export function listOf(shape: Shape): Shape {
  return (value) => Array.isArray(value) && value.every(shape);
}

export function mapOf(shape: Shape): Shape {
  return (value) => isObject(value) && Object.values(value).every(shape);
}

export function record(fields: Readonly<Record<string, Shape>>): Shape {
  return (value) => isObject(value) && Object.entries(fields).every(([name, shape]) => shape(value[name]));
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
