/** What a rollout does, in words. */
import type { RolledAction, RolloutAction } from "./rollout-record.ts";

/** What a host is doing. */
export const ROLLED_DOING: Readonly<Record<RolledAction, string>> = {
  deploy: "deploying",
  reload: "reloading",
  restart: "restarting",
  rollback: "rolling back",
  scale: "scaling",
  signal: "sending the signal",
  upgrade: "upgrading",
};

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
