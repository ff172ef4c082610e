/** Fields of `watcher`, of a process and of the top level. */
import { MAX_MS } from "../units.ts";
import { amount, type Fields, optional, strings } from "./field.ts";

export const WATCHER = {
  interval: {
    type: optional(amount(1, MAX_MS, "milliseconds")),
    unit: "ms",
    description: "Milliseconds from a change to the restart; all changes in this time count as one.",
    default: 1000,
  },
  exts: {
    type: strings,
    description: "File extensions that count; empty: all.",
    default: ["ts", "tsx", "js", "jsx", "json"],
  },
  match: {
    type: strings,
    description: "Patterns; a file in a watched folder must match one of them.",
    default: ["**/*.*"],
  },
  skip: {
    type: strings,
    description: "Patterns of files that don't count, and of folders that are not searched.",
    default: ["**/.git/**"],
  },
} as const satisfies Fields;
