/** What is wrong with the shape of a configuration, by zod. */
import * as z from "zod/mini";
import { configuration, type RawConfig } from "./schema.ts";
import type { Shape } from "./shape.ts";

/** One thing whose shape is wrong, in zod's words. */
export type Issue = z.core.$ZodIssue;

let made: z.ZodMiniType | undefined;

/** All faults; without any, a copy of the data. */
export function judge(data: unknown): { readonly config?: RawConfig; readonly issues: readonly Issue[] } {
  made ??= zodOf(configuration);
  // Compiled validators pay off after thousands of calls; a file is checked once. Not by z.config: that is global to the program.
  const result = z.safeParse(made, data, { jitless: true });
  return result.success ? { config: result.data as RawConfig, issues: [] } : { issues: result.error.issues };
}

/** zod's schema of the same. */
export function zodOf(shape: Shape): z.ZodMiniType {
  switch (shape.kind) {
    case "text":
      return textOf(shape);
    case "number": {
      const { least, most, allowed } = shape;
      return (shape.whole ? z.int(allowed) : z.number(allowed)).check(z.minimum(least, allowed), z.maximum(most, allowed));
    }
    case "boolean":
      return z.boolean(shape.allowed);
    case "words":
      return z.enum(shape.words as readonly [string, ...string[]]);
    case "literal":
      return z.literal(shape.only);
    case "union":
      return z.union(shape.branches.map(zodOf) as [z.ZodMiniType, ...z.ZodMiniType[]], shape.allowed);
    case "list": {
      const items = z.array(zodOf(shape.item), shape.allowed);
      return shape.ofNone === undefined ? items : items.check(z.minLength(1, shape.ofNone));
    }
    case "object":
      return z.strictObject(Object.fromEntries(Object.entries(shape.members).map(([key, member]) => [key, zodOf(member)])), "an object");
    case "record":
      return z.record(textOf(shape.key), zodOf(shape.item), shape.allowed);
    case "optional":
      return z.optional(zodOf(shape.inner));
    case "anything":
      return z.unknown();
    default:
      return shape satisfies never;
  }
}

function textOf({ allowed, pattern }: Shape & { readonly kind: "text" }): z.ZodMiniString {
  return pattern === undefined ? z.string(allowed) : z.string(allowed).check(z.regex(pattern, allowed));
}
