/** The shape of a configuration without a fault, as nearly all are: a tenth of the time that it takes to tell what is wrong with one. */
import type { Shape } from "./shape.ts";

/** Whether data from JSON have this shape. True of nothing that zod refuses; what it isn't true of, zod judges. */
export function fits(value: unknown, shape: Shape): boolean {
  switch (shape.kind) {
    case "text":
      return typeof value === "string" && (shape.pattern === undefined || shape.pattern.test(value));
    case "number":
      return (shape.whole ? Number.isSafeInteger(value) : Number.isFinite(value)) && isWithin(value as number, shape);
    case "boolean":
      return typeof value === "boolean";
    case "words":
      return shape.words.includes(value as string);
    case "literal":
      return value === shape.only;
    case "union":
      return shape.branches.some((branch) => fits(value, branch));
    case "list":
      return Array.isArray(value) && (value.length > 0 || shape.ofNone === undefined) && value.every((item) => fits(item, shape.item));
    case "object":
      return isObject(value) && hasMembers(value, shape.members);
    case "record":
      return isObject(value) && Object.entries(value).every(([key, item]) => fits(key, shape.key) && fits(item, shape.item));
    case "optional":
      return fits(value, shape.inner);
    case "anything":
      return true;
    default:
      return shape satisfies never;
  }
}

function isWithin(value: number, { least, most }: { readonly least: number; readonly most: number }): boolean {
  return value >= least && value <= most;
}

function hasMembers(value: Readonly<Record<string, unknown>>, members: Readonly<Record<string, Shape>>): boolean {
  for (const key of Object.keys(value)) {
    const member = Object.hasOwn(members, key) ? members[key] : undefined;
    if (member === undefined || !fits(value[key], member)) return false;
  }
  for (const key in members) if (members[key]?.kind !== "optional" && !Object.hasOwn(value, key)) return false;
  return true;
}

/** What JSON makes of `{}`, without the key that zod leaves out. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !Object.hasOwn(value, "__proto__");
}
