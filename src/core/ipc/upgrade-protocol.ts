/** Messages between `procman upgrade` and the keeper: files in the state folder and SIGUSR1, so that it works without a service. */

/** `upgrade.json`: the installation to change to. Without the file, SIGUSR1 means the keeper's own. */
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
  /** Why it was not replaced: the old one stays. */
  readonly problem?: string;
};

/** `upgraded.json`: the result of the request with the same id. */
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
