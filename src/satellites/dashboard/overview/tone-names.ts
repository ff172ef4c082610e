/** What the overview calls processes by how much attention they need. */
import type { Tone } from "../model/record-lists.ts";

export const TONE_NAMES: Readonly<Record<Tone, string>> = {
  bad: "in trouble",
  busy: "changing",
  good: "up",
  quiet: "not running",
};
