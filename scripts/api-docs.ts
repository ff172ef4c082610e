/** Writes the tables of docs/api.md from the table of routes. With --check: fails when they are not up to date. */
import { readFileSync, writeFileSync } from "node:fs";
import type { Route } from "../src/contract/route.ts";
import { ROUTES } from "../src/contract/routes.ts";

const [BEGIN, END] = ["<!-- made by scripts/api-docs.ts -->", "<!-- end -->"];

const file = new URL("../docs/api.md", import.meta.url);
const text = readFileSync(file, "utf8");
const routes = Object.values(ROUTES as Readonly<Record<string, Route>>);
const made = `${text.slice(0, text.indexOf(BEGIN) + BEGIN.length)}\n\n${tables()}\n\n${text.slice(text.indexOf(END))}`;

if (!process.argv.includes("--check")) writeFileSync(file, made);
else if (made !== text) {
  console.error("docs/api.md is not up to date: run `node --import tsx scripts/api-docs.ts`");
  process.exitCode = 1;
}

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
