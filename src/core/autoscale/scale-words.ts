/** Sentences of decisions and refusals. */
import { size } from "../base/quantity.ts";
import type { LoadTarget, ScaleReason, ScaleRefusal } from "./scale-controller.ts";

/** `61 connections an instance, more than 40 for 10 s` */
export function growthText(reason: ScaleReason): string {
  if (reason.kind !== "load") return boundText(reason);
  const { target, load, forMs } = reason;
  return `${loadText(target, load)}, more than ${amountText(target, target.limit)}${timeText(forMs)}`;
}

/** `12 connections an instance: 2 were enough for 300 s` */
export function shrinkText(reason: ScaleReason, to: number): string {
  if (reason.kind !== "load") return boundText(reason);
  const { target, load, forMs } = reason;
  return `${loadText(target, load)}: ${to} ${to === 1 ? "instance was" : "instances were"} enough${timeText(forMs)}`;
}

/** Why it has no more instances. */
export function refusalText(refusal: ScaleRefusal): string {
  const why = growthText(refusal.reason);
  switch (refusal.kind) {
    case "max":
      return `it would need ${refusal.wanted}, and has its maximum: ${why}`;
    case "failing":
      return `it would need ${refusal.wanted}, but ${refusal.instance} does not stay up, and more would not either: ${why}`;
    case "memory":
      return `it would need ${refusal.wanted}, but an instance uses ${size(refusal.instanceBytes)} of memory, and ${size(refusal.freeBytes)} are free: ${why}`;
  }
}

function boundText({ kind, bound }: ScaleReason & { readonly kind: "min" | "max" }): string {
  return `its ${kind === "min" ? "minimum" : "maximum"} is ${bound}`;
}

function loadText(target: LoadTarget, load: number): string {
  const amount = amountText(target, load);
  if (target.name === "cpu") return `${amount} CPU an instance`;
  if (target.name === "connections") return `${amount} connections an instance`;
  if (target.name === "waiting") return `${amount} clients wait`;
  return `${target.name.slice("metric:".length)} ${amount} an instance`;
}

function amountText({ name }: LoadTarget, amount: number): string {
  const rounded = String(amount < 10 ? Math.round(amount * 10) / 10 : Math.round(amount));
  return name === "cpu" ? `${rounded} %` : rounded;
}

function timeText(ms: number): string {
  return ms === 0 ? "" : ` for ${ms / 1_000} s`;
}
