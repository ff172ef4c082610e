/** Fields of `ulimits`. */
import { literal, union } from "../../base/schema.ts";
import type { ULIMITS as ULIMIT_NAMES } from "../../contract/limits.ts";
import { SIZE_PATTERN } from "../units.ts";
import { type Field, type Fields, matching, optional, wholeNumber } from "./field.ts";

const LIMIT_SIZE = 'a size such as "64MB", a whole number of bytes, or "unlimited"';
const LIMIT_COUNT = 'a whole number from 0, or "unlimited"';
const bytes = optional(
  union(
    [matching(SIZE_PATTERN, LIMIT_SIZE), wholeNumber(0, Number.MAX_SAFE_INTEGER, LIMIT_SIZE), literal("unlimited")],
    {
      allowed: LIMIT_SIZE,
    },
  ),
);
const count = optional(
  union([wholeNumber(0, Number.MAX_SAFE_INTEGER, LIMIT_COUNT), literal("unlimited")], { allowed: LIMIT_COUNT }),
);

export const ULIMITS = {
  as: { type: bytes, description: "Address space. Bytes, or a text such as 2GB." },
  core: { type: bytes, description: "Size of a core file. Bytes, or a text." },
  cpu: { type: count, description: "Seconds of CPU time." },
  data: { type: bytes, description: "Data segment. Bytes, or a text." },
  fsize: { type: bytes, description: "Size of a file that it writes. Bytes, or a text." },
  memlock: { type: bytes, description: "Memory locked in RAM. Bytes, or a text." },
  nofile: { type: count, description: "Open files." },
  nproc: { type: count, description: "Processes of its user." },
  stack: { type: bytes, description: "Stack. Bytes, or a text." },
} as const satisfies Fields & Readonly<Record<(typeof ULIMIT_NAMES)[number], Field>>;
