/** The routes of rollouts over several hosts, part of the table in `routes.ts`. */
import { type ParameterValues, ROLLOUT_QUERY } from "./query.ts";
import { ROLLOUT_ORDER, ROLLOUT_STEP, type RolloutOrder, type RolloutStep } from "./rollout-record.ts";
import type { Route } from "./route.ts";

const output = { kind: "json", schema: "RolloutRecord" } as const;

export const ROLLOUT_ROUTES = {
  rollout: {
    method: "GET",
    path: "/rollout",
    scope: "read",
    summary: "The rollout over several hosts that this one takes part in, or the last one",
    parameters: ROLLOUT_QUERY,
    status: 200,
    output,
    errors: [404],
    answer: (control, { query, signal }) => {
      const { after, wait } = query as ParameterValues<typeof ROLLOUT_QUERY>;
      return control.rollout({
        ...(after !== undefined && { after }),
        ...(wait !== undefined && { waitSeconds: wait, signal }),
      });
    },
  },
  join: {
    method: "POST",
    path: "/rollout/join",
    scope: "control",
    summary: "Let this host take part in a rollout; until it is over, another one is refused",
    description:
      "Beyond `control` it needs the scope of what is done: `reload` of a reload, `admin` of `deploy`, `rollback` and `upgrade`.",
    parameters: {},
    body: { name: "RolloutOrder", schema: ROLLOUT_ORDER },
    status: 200,
    output,
    errors: [409, 413, 415],
    answer: (control, { body }) => control.joinRollout(body as RolloutOrder),
  },
  step: {
    method: "POST",
    path: "/rollout/steps",
    scope: "control",
    summary: "Begin the next step of the rollout on this host",
    description: "Answers when it has begun: `GET /rollout` follows it. It needs the scopes of `POST /rollout/join`.",
    parameters: {},
    body: { name: "RolloutStep", schema: ROLLOUT_STEP },
    status: 200,
    output,
    errors: [404, 409, 413, 415],
    answer: (control, { body }) => control.stepRollout(body as RolloutStep),
  },
} as const satisfies Readonly<Record<string, Route>>;
