/** How many files this process may have open. */
import { readFileSync } from "node:fs";

/** As the kernel says it (Linux); Infinity: without limit, or nobody tells. */
export function mostOpenFiles(): number {
  try {
    const [, soft = "unlimited"] = /^Max open files\s+(\d+|unlimited)/m.exec(readFileSync("/proc/self/limits", "latin1")) ?? [];
    return soft === "unlimited" ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
