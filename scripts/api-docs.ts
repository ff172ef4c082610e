/** Writes the tables of docs/reference/api.md from the table of routes, and the types of records from their schemas. With --check: fails when they are not up to date. */
import type { JsonSchema } from "../src/core/base/schema.ts";
import { SCHEMAS } from "../src/core/contract/record-schemas.ts";
import type { Route } from "../src/core/contract/route.ts";
import { ROUTES } from "../src/core/contract/routes.ts";
import { inPage, writeMade } from "./made-parts.ts";
import { typesOf } from "./schema-types.ts";

const SCRIPT = "scripts/api-docs.ts";

const routes = Object.values(ROUTES as Readonly<Record<string, Route>>);

/** Records whose types are not made of their schemas: unions, and those with a table of statuses. */
const BY_HAND = ["EventRecord", "LogItem", "ExecItem", "ScreenItem", "StateRecord", "Problem"];

/** Names of the objects in records, by their paths, or by the member that has them. */
const PARTS = {
  "ProcessRecord.runs[]": "RunRecord",
  "ProcessRecord.missed": "MissedRecord",
  "ProcessRecord.backend": "BackendRecord",
  "ProcessRecord.balancer": "BalancerRecord",
  "ProcessRecord.scale": "ScaleRecord",
  "ProcessRecord.socket": "SocketRecord",
  "ProcessRecord.cause": "StatusCause",
  ".end": "EndRecord",
  ".request": "RequestRecord",
  ".next": "DecisionRecord",
  "DefinitionRecord.env[]": "VariableRecord",
  "DefinitionRecord.written": "WrittenPart",
  "TelemetryReport.memory": "MemoryRecord",
  "PlanRecord.processes[]": "PlannedChange",
  "PlanRecord.settings[]": "PlannedSetting",
  "RollbackRecord.processes[]": "PlannedChange",
  "RollbackRecord.settings[]": "PlannedSetting",
  "HistoryEntry.processes[]": "PlannedChange",
  "HistoryEntry.settings[]": "PlannedSetting",
  "HistoryDetail.processes[]": "PlannedChange",
  "HistoryDetail.settings[]": "PlannedSetting",
  "HistoryDetail.files[]": "HistoryFile",
  "HistoryDiff.files[]": "FileDiff",
  "HistoryDiff.files[].hunks[]": "DiffHunk",
  "RolloutOrder.action": "RolloutAction",
  "RolloutRecord.action": "RolloutAction",
};

/** What the schema doesn't say: a record with this `type` has instances. */
const NARROWED = ` & (
  | { readonly type: "process" | "worker" }
  | { readonly type: "cluster" | "group"; readonly instances: readonly ProcessRecord[] }
);`;

writeMade(SCRIPT, {
  "docs/reference/api.md": inPage(SCRIPT, tables()),
  "generated/records.ts": () =>
    `/** Records of the API, and bodies of requests. Made by ${SCRIPT} of src/core/contract/record-schemas.ts. */\n\n${recordTypes()}\n`,
});

function recordTypes(): string {
  const made = Object.entries<JsonSchema>(SCHEMAS).filter(([name]) => !BY_HAND.includes(name));
  const names = Object.fromEntries(made.map(([name]) => [name, name]));
  const types = typesOf(Object.fromEntries(made), { ...PARTS, ...names });
  return types.replace(/(export type ProcessRecord = \{[\s\S]*?\n\});/, `$1${NARROWED}`);
}

function tables(): string {
  const overview = routes.map(
    ({ method, path, scope, orScope, status, summary, output }) =>
      `| \`${method} ${path}\` | ${scopesOf(scope, orScope)} | ${status} ${answerOf(output)} | ${summary} |`,
  );
  return [
    `| Request | Scope | Answer | |\n|---|---|---|---|\n${overview.join("\n")}`,
    ...routes.filter(({ parameters }) => Object.keys(parameters).length > 0).flatMap((route) => parametersOf(route)),
  ].join("\n\n");
}

function scopesOf(...scopes: readonly Route["scope"][]): string {
  return scopes.flatMap((scope) => (scope === undefined ? [] : [`\`${scope}\``])).join(" or ");
}

function answerOf(output: Route["output"]): string {
  if (output.kind === "stream") return `stream of \`${output.schema}\``;
  if (output.kind === "text" || output.kind === "file") return output.kind;
  return output.schema === undefined ? "" : `\`${output.schema}\`${output.list ? "s" : ""}`;
}

/** Those of all actions are the same. */
function parametersOf({ method, path, parameters }: Route): readonly string[] {
  if (/\/(stop|block|unblock|scale)$/.test(path)) return [];
  const name = path.endsWith("/start") ? "actions" : `${method} ${path}`;
  const rows = Object.entries(parameters).map(([parameter, { description, schema }]) => {
    const { minimum, maximum, enum: words, default: standard } = schema.items ?? schema;
    const range = words !== undefined ? words.join(", ") : minimum !== undefined ? `${minimum} … ${maximum}` : "";
    return `| \`${parameter}\` | ${range}${standard === undefined ? "" : `; default ${standard}`} | ${description} |`;
  });
  return [`Parameters of \`${name}\`:`, `| Parameter | Values | |\n|---|---|---|\n${rows.join("\n")}`];
}
