/** What `procman upgrade` and the keeper say to each other, by two files in the state folder, each made whole and at once (written aside and renamed): that works without the service. */

/** `upgrade.json`, written by the command before it sends SIGUSR1 to the keeper. */
export type UpgradeRequest = {
  /** Tells the answer to this request from that to another. */
  readonly id: string;
  /** The Node that shall run the new version. Absolute. */
  readonly node: string;
  /** Folder of the new version's bundles. Absolute. */
  readonly folder: string;
};

/** One of procman's own processes, replaced or tried to. */
export type UpgradeStep = {
  readonly part: "service" | "logger";
  readonly from: string;
  readonly to: string;
  /** Not so: the old version is back. */
  readonly ok: boolean;
  readonly ms: number;
  /** Why it was not replaced. */
  readonly problem?: string;
};

/** `upgraded.json`, the keeper's answer. */
export type UpgradeReport = {
  readonly id: string;
  readonly ok: boolean;
  /** Version of the keeper, which stays. */
  readonly keeper: string;
  readonly steps: readonly UpgradeStep[];
  /** What the user should know besides, as that the keeper is older than the new version wants. */
  readonly notice?: string;
};
