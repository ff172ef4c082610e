/** The processes that a command names. */
import { ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import type { ProcessRecord } from "../contract/records.ts";

/**
 * The records of these ids (processes, instances, clusters; none, or `all`: all of them), in their order.
 *
 * @throws {ProcmanError} `process-unknown`
 */
export function selected(records: readonly ProcessRecord[], ids: readonly string[]): readonly ProcessRecord[] {
  const wanted = new Set(ids);
  if (wanted.size === 0 || wanted.has("all")) return records;
  const everyone = records.flatMap((record) => [record, ...(record.instances ?? [])]);
  for (const id of wanted)
    if (!everyone.some((record) => record.id === id))
      throw new ProcmanError(
        "process-unknown",
        `Cannot find process "${id}": there is none of this id.${didYouMean(
          id,
          everyone.map((record) => record.id),
        )}`,
      );
  return records.flatMap((record) => (wanted.has(record.id) ? [record] : (record.instances ?? []).filter(({ id }) => wanted.has(id))));
}
