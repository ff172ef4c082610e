/** Rolls that are under way, as a later service must know them: instances of a cluster that are restarted one after another. */
import { count, listOf, number, optional, record, text } from "../base/shape.ts";
import type { FileChange } from "../supervisor/file-change.ts";

/** No process has an id like this. */
export const ROLLS = ":rolls";
/** So many names of files are handed on. */
export const NAMES = 10;

/** Watched files have changed, and these instances don't know that yet. */
export type News = FileChange & { readonly ids: readonly string[] };

export type Roll = {
  readonly cluster: string;
  /** The instances whose new runs are awaited; none: it has not begun. */
  readonly at: readonly string[];
  /** Those that still run as they did. */
  readonly left: readonly string[];
  /** Who has asked for it, if somebody has. */
  readonly consumer?: string;
  /** What it is for otherwise. */
  readonly news?: News;
  /** What has changed since: it is for another roll. */
  readonly again?: News;
};

/** One roll is enough for both. */
export function merged(former: News | undefined, news: News): News {
  if (former === undefined) return news;
  const twice = news.files.filter((file) => former.files.includes(file)).length;
  return {
    files: [...new Set([...former.files, ...news.files])].slice(0, NAMES),
    count: former.count + news.count - twice,
    at: Math.max(former.at, news.at),
    ids: [...new Set([...former.ids, ...news.ids])],
  };
}

export function writeRolls(rolls: readonly Roll[], lineage: string): string {
  return rolls.length === 0 ? "" : JSON.stringify({ lineage, rolls });
}

/** Notes may be lost, torn or strange. Whoever runs procman anew has asked for nothing. */
export function readRolls(note: string | undefined, lineage: string): readonly Roll[] {
  try {
    const known = JSON.parse(note ?? "{}") as { readonly lineage?: unknown; readonly rolls?: unknown };
    return known.lineage === lineage && Array.isArray(known.rolls)
      ? (known.rolls as unknown[]).filter((roll): roll is Roll => isRoll(roll))
      : [];
  } catch {
    return [];
  }
}

const isNews = record({ files: listOf(text), count, at: number, ids: listOf(text) });
const isRoll = record({
  cluster: text,
  at: listOf(text),
  left: listOf(text),
  consumer: optional(text),
  news: optional(isNews),
  again: optional(isNews),
});
