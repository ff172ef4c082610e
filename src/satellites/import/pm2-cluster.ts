/** `instances` of pm2: a cluster. pm2's cluster mode lets the instances of a Node program share the port on which it listens. */
import type { ProcessDraft } from "./configuration-draft.ts";
import type { Pm2App } from "./pm2-app.ts";

export function appCluster(app: Pm2App): void {
  const { draft, fields } = app;
  const given = fields.text("instances");
  const mode = fields.text("exec_mode") ?? (given !== undefined && app.isNode ? "cluster" : "fork");
  const variable = fields.text("instance_var") ?? "NODE_APP_INSTANCE";
  const increment = fields.text("increment_var");
  const instances = countOf(given);
  if (instances === undefined || instances === 1) {
    if (given !== undefined) draft.merge("env", { [variable]: 0 });
    if (increment !== undefined) draft.note("increment_var", "with one instance nothing is incremented");
    return;
  }
  if (Number(given) < 0) draft.note("instances", `${given} leaves processors free there; "max" is one for each`);
  draft.merge("env", { [variable]: "${PROCMAN_CLUSTER_INSTANCE}" }).set("cluster", { instances });
  if (increment !== undefined) draft.merge("cluster", counted(increment, draft));
  else if (mode.startsWith("cluster")) sharedPort(app);
}

function sharedPort({ draft }: Pm2App): void {
  const port = portIn((draft.fields.env as Readonly<Record<string, unknown>>).PORT);
  if (port === undefined) {
    draft.note(
      "exec_mode",
      'pm2 lets the instances share the port on which the program listens. If it listens: "node": true, and in "cluster" "mode": "share" and that port as "commonPort"',
    );
    return;
  }
  // As in pm2: the instances see the addresses of their clients.
  draft.set("node", true).merge("cluster", { mode: "share", commonPort: port, hostname: "0.0.0.0" });
}

function countOf(given: string | undefined): number | "max" | undefined {
  if (given === undefined) return undefined;
  const count = Number.parseInt(given, 10);
  return given === "max" || Number.isNaN(count) || count <= 0 ? "max" : count;
}

function portIn(value: unknown): number | undefined {
  const port = typeof value === "string" || typeof value === "number" ? Number(value) : Number.NaN;
  return Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined;
}

/** A variable that grows by one for each instance is what procman does with a port. */
function counted(name: string, draft: ProcessDraft): Readonly<Record<string, unknown>> {
  const { [name]: first, ...env } = (draft.fields.env ?? {}) as Readonly<Record<string, unknown>>;
  const port = portIn(first);
  if (port === undefined) {
    draft.note("increment_var", `${name} is no number from 1 to 65535: write it with {instance}, which counts from 1`);
    return {};
  }
  draft.set("env", env);
  return { startPort: port, portVariable: name };
}
