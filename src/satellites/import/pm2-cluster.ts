/** Instances of an app of pm2, their ports, and what differs in its environments (`env_production`). */
import { resolve } from "node:path";
import { statIfSeen } from "../../core/os/files.ts";
import { idOf, type ProcessDraft } from "./configuration-draft.ts";
import { pathFields } from "./foreign-text.ts";
import type { Pm2App } from "./pm2-app.ts";
import { beginningOf } from "./pm2-command.ts";

/** What a variable with a port means: nothing, the port that all instances share, or that of the first one. */
type PortRole = "none" | "shared" | "first";

/** pm2's cluster mode lets the instances of a Node program share the port on which it listens. */
export function appCluster(app: Pm2App): PortRole {
  const { draft, fields } = app;
  const given = fields.text("instances");
  const mode = fields.text("exec_mode") ?? (given !== undefined && app.isNode ? "cluster" : "fork");
  const variable = fields.text("instance_var") ?? "NODE_APP_INSTANCE";
  const increment = fields.text("increment_var");
  const instances = countOf(given);
  if (instances === undefined || instances === 1) {
    // Programs ask by it whether they are the first instance.
    draft.merge("env", { [variable]: 0 });
    if (increment !== undefined) draft.note("increment_var", "with one instance nothing is incremented");
    return "none";
  }
  if (Number(given) < 0) draft.note("instances", `${given} leaves processors free there; "max" is one for each`);
  draft.merge("env", { [variable]: "${PROCMAN_CLUSTER_INSTANCE}" }).set("cluster", { instances });
  if (increment !== undefined) {
    draft.merge("cluster", counted(increment, draft));
    return "first";
  }
  if (!mode.startsWith("cluster")) return "none";
  sharedPort(app);
  return "shared";
}

/** As in pm2: the instances see the addresses of their clients. */
function sharedOn(port: number): Readonly<Record<string, unknown>> {
  return { mode: "share", commonPort: port, hostname: "0.0.0.0" };
}

function sharedPort({ draft, cwd, script }: Pm2App): void {
  const given = portIn((draft.fields.env as Readonly<Record<string, unknown>>).PORT);
  const port = given ?? portOfProgram(resolve(cwd, script));
  if (port === undefined)
    return void draft.note(
      "exec_mode",
      'pm2 lets the instances share the port on which the program listens. If it listens: "node": true, and in "cluster" "mode": "share" and that port as "commonPort"',
    );
  if (given === undefined)
    draft.note(
      "exec_mode",
      `the instances share the port ${port}, as ${script} has it; correct "commonPort" if it listens on another one`,
    );
  draft.set("node", true).merge("cluster", sharedOn(port));
}

const MAX_PROGRAM_BYTES = 1024 ** 2;

/** Ports as programs have them: `process.env.PORT || 3000`, `listen(3000)`. */
const LISTENS = /\bPORT\b["'\])\s]*(?:\|\||\?\?)\s*["']?(\d{2,5})\b|\.listen\(\s*(?:\{\s*port:\s*)?(\d{2,5})\b/g;

/** undefined: the program names none, or several. */
function portOfProgram(file: string): number | undefined {
  if (statIfSeen(file)?.isFile() !== true) return undefined;
  const ports = new Set([...beginningOf(file, MAX_PROGRAM_BYTES).matchAll(LISTENS)].map(([, a, b]) => portIn(a ?? b)));
  return ports.size === 1 ? [...ports][0] : undefined;
}

/** `env_NAME`: a profile. A port in it is that of the cluster, too. */
export function appProfiles(
  { draft, fields, configuration }: Pm2App,
  role: PortRole,
  variablesOf: (given: unknown) => Readonly<Record<string, unknown>>,
): void {
  const counted = fields.text("increment_var") ?? "";
  for (const key of fields.names()) {
    const profile = /^env_(\S+)$/.exec(key)?.[1];
    if (profile === undefined || key === "env_file") continue;
    const { PATH: path, ...variables } = variablesOf(fields.any(key));
    const id = idOf(profile);
    if (id !== profile) draft.note(key, `the profile is called ${id}`);
    const port = portIn(variables[role === "first" ? counted : "PORT"]);
    const env = Object.entries(variables).filter(([name]) => role !== "first" || name !== counted);
    configuration.addToProfile(id, draft, {
      env: Object.fromEntries(env),
      ...(path !== undefined && pathFields(String(path))),
      ...(port !== undefined && role === "first" && { cluster: { startPort: port } }),
      ...(port !== undefined && role === "shared" && { node: true, cluster: sharedOn(port) }),
    });
  }
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
    draft.note(
      "increment_var",
      `${name} is not a number from 1 to 65535: write it with {instance}, which counts from 1`,
    );
    return {};
  }
  draft.set("env", env);
  return { startPort: port, portVariable: name };
}
