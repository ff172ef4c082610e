/** The plugins that come with procman (`procman/NAME`), with the schemas of their options. A test compares the table with the folders. */
import type { JsonSchema } from "../../base/schema.ts";
import { OPTIONS as logship } from "./logship-options.ts";
import { OPTIONS as notify } from "./notify-options.ts";
import { OPTIONS as otlp } from "./otlp-options.ts";

export const SHIPPED_OPTIONS = { notify, otlp, logship } as const satisfies Readonly<Record<string, JsonSchema>>;

export type Shipped = keyof typeof SHIPPED_OPTIONS;

export const SHIPPED = Object.keys(SHIPPED_OPTIONS) as readonly Shipped[];

export function isShipped(name: string): name is Shipped {
  return Object.hasOwn(SHIPPED_OPTIONS, name);
}
