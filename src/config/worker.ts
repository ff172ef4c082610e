/** Worker scripts that the running Node can't execute. */
import { type Finding, show } from "./finding.ts";
import type { LooseProcess } from "./loose.ts";

/** It strips types only when asked to: Node 22.6 to 22.17, and 23 before 23.6. */
const FLAG = "--experimental-strip-types";

/** What this Node does by itself: from 22.18 on, unless it was built without that. */
export function stripsTypes(): boolean {
  // Not in the types of Node 20.
  return Boolean((process.features as { readonly typescript?: unknown }).typescript);
}

/** What this Node has to be told so that it runs TypeScript; undefined: it can't. */
export function typeScriptFlags(): readonly string[] | undefined {
  if (stripsTypes()) return [];
  // It knows the flag also if it was built without what strips them.
  const { node_use_amaro: isBuilt } = process.config.variables as { readonly node_use_amaro?: boolean };
  return isBuilt !== false && process.allowedNodeEnvironmentFlags.has(FLAG) ? [FLAG] : undefined;
}

export function isTypeScript(script: string): boolean {
  return /\.[cm]?ts$/.test(script);
}

/** Why a worker in TypeScript would end as soon as it starts. Whoever sets NODE_OPTIONS for it brings a loader along. */
export function workerProblem({ worker, env }: LooseProcess, strips: () => boolean): Pick<Finding, "message"> | undefined {
  const script = typeof worker === "string" ? worker : worker?.[0];
  const extension = /\.(?:[cm]?ts|[jt]sx)$/.exec(script ?? "")?.[0];
  if (extension === undefined || env?.NODE_OPTIONS !== undefined) return undefined;
  const isMarkup = extension.endsWith("x");
  if (!isMarkup && strips()) return undefined;
  const [what, instead] = isMarkup
    ? ["no JSX", "compile it to JavaScript"]
    : [`no TypeScript (Node ${process.versions.node}; 22.6 and later do)`, "use a later Node, compile it to JavaScript"];
  return {
    message: `Found ${show(script)}; this Node runs ${what}. Remedies: ${instead}, or give the process a loader by "env": { "NODE_OPTIONS": "--import tsx" }.`,
  };
}
