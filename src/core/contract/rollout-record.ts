/** A rollout over several hosts, as each of them keeps it: what is asked for, and how far this host is. */
import { enumeration, integer, list, literal, object, openObject, optional, string, time } from "../base/schema.ts";
import { DEPLOY_ORDER } from "./deployment-record.ts";
import { SCALING, SIGNALLING } from "./input-schemas.ts";
import { ROLLED_BY } from "./rollout-mark.ts";
import type { TokenScope } from "./token-claims.ts";

export type {
  RolloutAction,
  RolloutOrder,
  RolloutRecord,
  RolloutStep,
} from "../../../generated/records.ts";

export const ROLLED_ACTIONS = [
  "block",
  "deploy",
  "disable",
  "enable",
  "reload",
  "restart",
  "rollback",
  "scale",
  "signal",
  "start",
  "stop",
  "unblock",
  "upgrade",
] as const;

export type RolledAction = (typeof ROLLED_ACTIONS)[number];

/** What the action itself needs. */
export const ROLLED_SCOPES: Readonly<Record<RolledAction, TokenScope>> = {
  block: "control",
  deploy: "admin",
  disable: "control",
  enable: "control",
  reload: "reload",
  restart: "control",
  rollback: "admin",
  scale: "control",
  signal: "control",
  start: "control",
  stop: "control",
  unblock: "control",
  upgrade: "admin",
};

const NO_STATE = "procman doesn't keep what each process was before";

/** Why it can't be taken back; the others can. */
export const NO_WAY_BACK: Partial<Readonly<Record<RolledAction, string>>> = {
  block: NO_STATE,
  disable: NO_STATE,
  enable: NO_STATE,
  restart: "a restart leaves nothing to go back to",
  signal: "a signal can't be taken back",
  start: NO_STATE,
  stop: NO_STATE,
  unblock: NO_STATE,
  upgrade: "procman doesn't go back to an earlier version",
};

/** What leaves a host as ready for requests as before: only that is done out of a load balancer. */
export const DRAINABLE: readonly RolledAction[] = [
  "deploy",
  "reload",
  "restart",
  "rollback",
  "scale",
  "signal",
  "upgrade",
];

export const ROLLOUT_PHASES = [
  "waiting",
  "draining",
  "undraining",
  "running",
  "readying",
  "done",
  "failed",
  "back-draining",
  "back-running",
  "back-readying",
  "back-failed",
  "taken-back",
] as const;

export type RolloutPhase = (typeof ROLLOUT_PHASES)[number];

/** `did`: the client has carried it out itself (`upgrade`). */
const ROLLOUT_STEPS = [
  "drain",
  "undrain",
  "run",
  "did",
  "ready",
  "fail",
  "back-drain",
  "back-run",
  "retry",
  "abort",
  "release",
] as const;

const ID = "^[0-9]{8}-[0-9]{6}-[0-9a-f]{4}$";
const HOST_NAME = string({ minLength: 1, maxLength: 300 });
const TEXT = string({ maxLength: 4_000 });

const ROLLOUT_ACTION = object(
  {
    kind: enumeration(ROLLED_ACTIONS, { description: "The command." }),
    ids: optional(
      list(string({ minLength: 1, maxLength: 200 }), {
        minItems: 1,
        maxItems: 1_000,
        description: "Processes; of `scale` one. Not with `deploy`, `reload`, `rollback`, `upgrade`.",
      }),
    ),
    hard: optional(literal(true, { description: "`restart`: all instances of a cluster at once." })),
    withDependencies: optional(literal(true, { description: "`start`: first what they depend on." })),
    profile: optional(string({ maxLength: 200, description: "`reload`: with this profile; empty: without one." })),
    scaling: optional({ ...SCALING, description: "`scale`: the number of instances." }),
    signalling: optional({ ...SIGNALLING, description: "`signal`: which one." }),
    order: optional({ ...DEPLOY_ORDER, description: "`deploy`: what, by its path on this host." }),
    entry: optional(string({ maxLength: 80, description: "`rollback`: an entry of the history, or a release." })),
    force: optional(literal(true, { description: "`rollback`: also over changes that are not committed." })),
  },
  { description: "What is done on each host." },
);

const members = {
  id: string({ pattern: ID, description: "Id of the rollout, the same on all hosts." }),
  host: { ...HOST_NAME, description: "This host, as the list of the client calls it." },
  hosts: list(HOST_NAME, {
    minItems: 1,
    maxItems: 10_000,
    description: "All hosts, in the order in which they change.",
  }),
  action: ROLLOUT_ACTION,
  batch: integer({ minimum: 1, maximum: 10_000, description: "How many hosts change at the same time." }),
  maxFailed: integer({ minimum: 0, maximum: 10_000, description: "How many may fail before the rollout stops." }),
  onFailure: enumeration(["stop", "rollback"], { description: "What follows when more have failed." }),
  drains: optional(
    literal(true, { description: "The client takes each host out of its load balancer, and puts it back." }),
  ),
  by: ROLLED_BY,
};

export const ROLLOUT_ORDER = object(members, { description: "A rollout that this host is to take part in." });

export const ROLLOUT_STEP = object(
  {
    id: members.id,
    step: enumeration(ROLLOUT_STEPS, {
      description:
        "`drain`, `run`, `ready` forward, `back-drain`, `back-run`, `ready` back; `undrain`: out of `drain` without a change; `did` and `fail`: what the client has done itself; `retry` after a failure; `abort`: all hosts stop, or go back; `release`: it is over here.",
    }),
    problem: optional({ ...TEXT, description: "`fail`: why. `back-run`: what has failed before it." }),
  },
  { description: "The next step of a rollout on this host." },
);

export const ROLLOUT = openObject(
  {
    ...members,
    phase: enumeration(ROLLOUT_PHASES, { description: "How far this host is." }),
    since: time({ description: "Since when." }),
    time: time({ description: "When the rollout began here." }),
    ended: optional(time({ description: "When it was over here; absent: another rollout is refused." })),
    problem: optional(string({ description: "Why this host has failed." })),
    changed: optional(literal(true, { description: "It has something that can be taken back." })),
    back: optional(literal(true, { description: "The rollout goes back." })),
    aborted: optional(literal(true, { description: "The rollout was aborted." })),
    line: optional(string({ description: "What has happened last." })),
    said: optional(time({ description: "When that was." })),
    consumer: string({ description: "The consumer of the token that has asked for it." }),
    user: optional(string({ description: "The Unix user behind it, if procman runs as another one." })),
    next: integer({ description: "Value of `after` for the next change." }),
  },
  { description: "A rollout over several hosts, as this host has it." },
);
