/** Records of releases and deployments, and what a deployment is asked for. */
import { enumeration, integer, list, literal, object, openObject, optional, string, time } from "../base/schema.ts";
import { ROLLOUT_MARK } from "./rollout-mark.ts";

export type { DeploymentRecord, DeployOrder, ReleaseRecord } from "../../../generated/records.ts";

/** Forward, in this order; `promote` ends the instances of before that stood by, `clean` removes old releases. Then the way back, and `discard`, which removes an unused release. */
export const DEPLOY_STEPS = [
  "copy",
  "prepare",
  "before",
  "switch",
  "restart",
  "after",
  "gate",
  "promote",
  "clean",
  "switch-back",
  "restart-back",
  "after-back",
  "discard",
] as const;

export type DeployStep = (typeof DEPLOY_STEPS)[number];

const RESULTS = ["planned", "running", "done", "failed", "taken-back"] as const;

const path = (description: string) => optional(string({ pattern: "^/[^\\u0000]*$", maxLength: 4_096, description }));

/** In the order of the names that a command takes. */
export const RELEASE_SOURCES = ["folder", "tarball", "ref", "release"] as const;

export const DEPLOY_ORDER = object(
  {
    folder: path("Absolute path of a folder, whose content is copied."),
    tarball: path("Absolute path of an archive of `tar`, also compressed by gzip."),
    ref: optional(
      string({
        pattern: "^[^\\u0000-\\u0020\\u007f-][^\\u0000-\\u0020\\u007f]*$",
        maxLength: 250,
        description: "A commit, tag or branch of `repository`.",
      }),
    ),
    repository: path("Absolute path of a folder in a Git repository."),
    release: optional(string({ maxLength: 80, description: "Id of a release that is there already." })),
    dryRun: optional(literal(true, { description: "Check everything, and say what would be done." })),
    uploaded: optional(
      string({
        maxLength: 4_096,
        description:
          "`folder` or `tarball` was uploaded by `procman deploy --host`, which names here what it is made from. Procman removes the upload when the deployment is over.",
      }),
    ),
  },
  { description: "What to deploy: `folder`, `tarball`, `ref` with `repository`, or `release`." },
);

export const DEPLOYMENT = openObject(
  {
    number: integer({ description: "From 1; 0: it was only planned." }),
    release: string({ description: "Id of the release: a folder of `releases.folder`." }),
    before: optional(
      string({ description: "Where the link led before: a release, or a path. Absent: there was none." }),
    ),
    source: string({ description: "What it is made from: a path, or a ref with its commit." }),
    result: enumeration(RESULTS, {
      description:
        "`done`: the release is in use. `failed`: nothing was switched. `taken-back`: the release before is in use again. `planned`: a dry run.",
    }),
    problem: optional(string({ description: "Why it has failed or was taken back." })),
    step: optional(enumeration(DEPLOY_STEPS, { description: "What is under way; absent: it is over." })),
    time: time({ description: "When it began." }),
    ended: optional(time({ description: "When it was over." })),
    consumer: string({ description: "The consumer of the token that has asked for it." }),
    user: optional(string({ description: "The Unix user behind it, if procman runs as another one." })),
    rollout: optional(ROLLOUT_MARK),
    lines: list(string(), { description: "What has happened since `after`: steps, and output of commands." }),
    next: integer({ description: "Value of `after` for the lines that follow." }),
  },
  { description: "A deployment: how a release was put in use, or was not." },
);

export const RELEASE = openObject(
  {
    id: string({ description: "Name of its folder." }),
    path: string({ description: "Absolute path of its folder." }),
    current: optional(literal(true, { description: "The link leads to it." })),
    source: optional(string({ description: "What it was made from, if that is known." })),
    time: optional(time({ description: "When it was made." })),
    result: optional(enumeration(RESULTS, { description: "What became of its last deployment." })),
    problem: optional(string({ description: "Why that has failed or was taken back." })),
    pids: list(integer(), {
      description: "What runs in it: pids whose folder it is. Empty where the system doesn't tell (macOS).",
    }),
  },
  { description: "A release that is there." },
);
