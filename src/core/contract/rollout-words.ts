/** What a rollout does, in words. */
import type { RolloutMark } from "./rollout-mark.ts";
import type { RolledAction, RolloutAction } from "./rollout-record.ts";

/** What a host is doing. */
export const ROLLED_DOING: Readonly<Record<RolledAction, string>> = {
  block: "blocking",
  deploy: "deploying",
  disable: "disabling",
  enable: "enabling",
  reload: "reloading",
  restart: "restarting",
  rollback: "rolling back",
  scale: "scaling",
  signal: "sending the signal",
  start: "starting",
  stop: "stopping",
  unblock: "unblocking",
  upgrade: "upgrading",
};

/** @example rolloutText({ id: "20261128-031500-8f3a", by: "ann@laptop" }) // "rollout 20261128-031500-8f3a of ann@laptop" */
export function rolloutText({ id, by }: RolloutMark): string {
  return `rollout ${id}${by === undefined ? "" : ` of ${by}`}`;
}

/** The command, without its hosts. @example actionText({ kind: "restart", ids: ["web"] }) // "restart web" */
export function actionText({ kind, ids = [], scaling, signalling, order, entry, profile }: RolloutAction): string {
  const to =
    scaling?.instances ?? (scaling?.by === undefined ? undefined : `${scaling.by > 0 ? "+" : ""}${scaling.by}`);
  const source = order?.uploaded ?? order?.folder ?? order?.tarball ?? order?.ref ?? order?.release;
  const words = [
    kind,
    signalling?.signal,
    ...ids,
    to,
    source,
    entry,
    profile === undefined ? undefined : `--profile ${profile}`,
  ];
  return words.filter((word) => word !== undefined).join(" ");
}
