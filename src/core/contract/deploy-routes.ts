/** The routes of releases and deployments, part of the table in `routes.ts`. */
import type { DeployOrder } from "./deployment-record.ts";
import { DEPLOY_ORDER } from "./deployment-record.ts";
import { DEPLOYMENT_QUERY, type ParameterValues } from "./query.ts";
import type { Route } from "./route.ts";

export const DEPLOY_ROUTES = {
  releases: {
    method: "GET",
    path: "/releases",
    scope: "read",
    summary: "The releases that are there, newest first",
    parameters: {},
    status: 200,
    output: { kind: "json", schema: "ReleaseRecord", list: true },
    errors: [409],
    answer: (control) => control.releases(),
  },
  deploy: {
    method: "POST",
    path: "/deployments",
    scope: "admin",
    summary: "Make a release and put it in use, or put one in use that is there",
    description:
      "Over the port a new release needs `api.exec` in the configuration. Answers when it has begun; `GET /deployments/latest` follows it. With `dryRun`: when everything is checked.",
    parameters: {},
    body: { name: "DeployOrder", schema: DEPLOY_ORDER },
    status: 200,
    output: { kind: "json", schema: "DeploymentRecord" },
    errors: [404, 409, 413, 415],
    answer: (control, { body }) => control.deploy(body as DeployOrder),
  },
  deployment: {
    method: "GET",
    path: "/deployments/{id}",
    idMeaning: "Number of a deployment, or `latest`.",
    scope: "admin",
    summary: "How a deployment goes on, or has ended",
    parameters: DEPLOYMENT_QUERY,
    status: 200,
    output: { kind: "json", schema: "DeploymentRecord" },
    errors: [404],
    answer: (control, { id, query, signal }) => {
      const { after, wait } = query as ParameterValues<typeof DEPLOYMENT_QUERY>;
      return control.deployment(id, {
        ...(after !== undefined && { after }),
        ...(wait !== undefined && { waitSeconds: wait, signal }),
      });
    },
  },
} as const satisfies Readonly<Record<string, Route>>;
