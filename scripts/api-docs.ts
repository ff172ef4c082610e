/** Writes the tables of docs/reference/api.md from the table of routes. With --check: fails when they are not up to date. */
import type { Route } from "../src/core/contract/route.ts";
import { ROUTES } from "../src/core/contract/routes.ts";
import { inPage, writeMade } from "./made-parts.ts";

const SCRIPT = "scripts/api-docs.ts";

const routes = Object.values(ROUTES as Readonly<Record<string, Route>>);

writeMade(SCRIPT, { "docs/reference/api.md": inPage(SCRIPT, tables()) });

function tables(): string {
  const overview = routes.map(
    ({ method, path, scope = "", status, summary, output }) =>
      `| \`${method} ${path}\` | ${scope && `\`${scope}\``} | ${status} ${answerOf(output)} | ${summary} |`,
  );
  return [
    `| Request | Scope | Answer | |\n|---|---|---|---|\n${overview.join("\n")}`,
    ...routes.filter(({ parameters }) => Object.keys(parameters).length > 0).flatMap((route) => parametersOf(route)),
  ].join("\n\n");
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
