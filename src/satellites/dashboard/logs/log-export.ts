/** Log lines as a text file: what the filter says, not only what is loaded. */
import type { Client } from "../../../client/client.ts";
import type { LogEntry } from "../../../core/contract/records.ts";
import { plainText } from "./ansi.ts";
import type { ShownFilter } from "./log-pager.ts";

const PAGE = 10_000;
/** Lines of a file, which the browser holds in memory. */
export const EXPORT_LIMIT = 1_000_000;

export function textOfLine({ time, severity, process, text }: LogEntry): string {
  return `${time} ${severity.padEnd(5)} ${process ?? "procman"} ${plainText(text)}\n`;
}

/** All lines of the filter, oldest first. `onCount`: is told how many are there so far. */
export async function exportedLog(client: Pick<Client, "logs">, filter: ShownFilter, onCount: (count: number) => void): Promise<Blob> {
  const parts: Blob[] = [];
  let [cursor, count]: [string | undefined, number] = [undefined, 0];
  do {
    const { entries, next } = await client.logs({ ...filter, order: "asc", limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    parts.push(new Blob(entries.map(textOfLine)));
    count += entries.length;
    onCount(count);
    cursor = next;
  } while (cursor !== undefined && count < EXPORT_LIMIT);
  return new Blob(parts, { type: "text/plain" });
}

/** Lets the browser store it. */
export function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
