/** Stands in for what is being built on other branches; goes before this branch lands. */
import type { Observatory } from "./control.ts";

function unbuilt(): never {
  throw new Error("not built yet");
}

export const unbuiltObservatory: Observatory = {
  metrics: unbuilt,
  incidents: unbuilt,
  prometheus: unbuilt,
  events: unbuilt,
  telemetry: unbuilt,
};
