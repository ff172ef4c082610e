/** How `procman upgrade` and the keeper speak to each other: by files in the state folder and SIGUSR1, so that it works without a service. */

/** `upgrade.json`: which installation to go over to. Without the file, SIGUSR1 means the one that the keeper came from. */
export type UpgradeRequest = {
  readonly id: string;
  /** Path of the Node to run with. */
  readonly node: string;
  /** Folder that holds procman's programs. */
  readonly folder: string;
};

export type UpgradeStep = {
  readonly part: "service" | "logger" | "balancer";
  /** Versions. */
  readonly from: string;
  readonly to: string;
  readonly ok: boolean;
  /** How long that took, in milliseconds. */
  readonly ms: number;
  /** Why it was not replaced: the old one goes on. */
  readonly problem?: string;
};

/** `upgraded.json`: what became of the request with the same id. */
export type UpgradeReport = {
  readonly id: string;
  readonly ok: boolean;
  /** Version of the keeper, which stays. */
  readonly keeper: string;
  readonly steps: readonly UpgradeStep[];
  readonly notice?: string;
};

export const UPGRADE_REQUEST = "upgrade.json";
export const UPGRADE_REPORT = "upgraded.json";
