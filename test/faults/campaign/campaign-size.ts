/** What is right for the cluster whose size changes by its schedules, all the time, unless a number by hand pins it. */
import type { ProcessRecord } from "../../../src/core/contract/records.ts";
import { SIZED, SIZES } from "./campaign-load.ts";
import type { Outcome } from "./campaign-model.ts";

/** `undefined`: by its schedules. */
type Pin = number | undefined;

export class CampaignSize {
  #pins: ReadonlySet<Pin> = new Set([undefined]);

  scaled(to: number | "auto", outcome: Outcome): void {
    if (outcome !== "refused") this.#may(to === "auto" ? undefined : to, outcome);
  }

  /** The file was applied, or may be from now on: it has no pins. */
  reset(outcome: Outcome): void {
    if (outcome !== "refused") this.#may(undefined, outcome);
  }

  #may(pin: Pin, outcome: Outcome): void {
    this.#pins = new Set(outcome === "done" ? [pin] : [...this.#pins, pin]);
  }

  /** What the record contradicts. Then it is what is right. */
  compare(record: ProcessRecord | undefined): readonly string[] {
    const { scale, instances = [] } = record ?? {};
    const [count, right] = [instances.length, this.#pins];
    const pin = scale?.pinned === true ? count : undefined;
    this.#pins = new Set([pin]);
    const found = `${count} instances, ${JSON.stringify(scale)}`;
    if (!right.has(pin)) return [`${SIZED}: pinned to ${[...right].join(" or ")}, but it has ${found}`];
    if (pin === undefined && !SIZES.includes(count))
      return [`${SIZED}: its schedules ask for ${SIZES.join(" or ")}, but it has ${found}`];
    // Those that are removed are in the record until they have ended.
    const staying = instances.filter(({ status }) => status !== "stopping").length;
    const isDecided = scale?.last === undefined || [count, staying].includes(scale.last.to);
    return isDecided ? [] : [`${SIZED}: decided otherwise: ${found}`];
  }
}
