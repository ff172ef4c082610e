/** Whether a disk takes one more byte and one more file. */
import { statfsSync } from "node:fs";

/** File systems without a bound of their own say 0 blocks or 0 files in all. The last blocks may be for root alone. */
export function isFull(folder: string): boolean {
  const { blocks, bavail, bfree, files, ffree } = statfsSync(folder);
  const left = process.getuid?.() === 0 ? bfree : bavail;
  return (blocks > 0 && left === 0) || (files > 0 && ffree === 0);
}
