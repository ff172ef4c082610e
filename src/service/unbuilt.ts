/** Stands in for what is being built on other branches; goes before this branch lands. */
import type { LogBook } from "./control.ts";
import type { LastLines } from "./incidents.ts";

function unbuilt(): never {
  throw new Error("not built yet");
}

export const unbuiltLogBook: LogBook = { logs: unbuilt, follow: unbuilt, log: unbuilt };
export const unbuiltLastLines: LastLines = async () => [];
