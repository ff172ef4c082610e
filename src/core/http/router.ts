/** Finds the route of a request. */
import { ProcmanError } from "../base/errors.ts";
import { didYouMean } from "../base/suggest.ts";
import type { Route } from "../contract/route.ts";
import { ROUTES } from "../contract/routes.ts";
import { HttpError } from "./responses.ts";

export type RouteMatch = { readonly route: Route; readonly id: string };

const TABLE = Object.values(ROUTES as Readonly<Record<string, Route>>).map((route) => ({
  route,
  parts: route.path.split("/"),
}));

/** Whether the routes of this path need no token. */
export function isOpen(path: string): boolean {
  const routes = routesOf(path.split("/"));
  return routes.length > 0 && routes.every(({ scope }) => scope === undefined);
}

/** The methods of a path; empty: there is no such path. */
export function methodsOf(path: string): readonly string[] {
  const methods = routesOf(path.split("/")).map(({ method }) => method);
  return methods.length === 0
    ? []
    : [...new Set(methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method]))), "OPTIONS"];
}

/** @throws {ProcmanError} `path-unknown`, `method-unknown`; `input-invalid` if the path can't be decoded */
export function matchRoute(method: string, path: string): RouteMatch {
  const parts = path.split("/");
  const routes = routesOf(parts);
  const wanted = method === "HEAD" ? "GET" : method;
  const route = routes.find((each) => each.method === wanted);
  if (route !== undefined) return { route, id: idIn(route, parts) };
  if (routes.length === 0) throw unknownPath(path);
  const allow = methodsOf(path).join(", ");
  throw new HttpError("method-unknown", `Cannot ${method} ${shown(path)}: it takes ${allow}`, { allow });
}

function routesOf(parts: readonly string[]): readonly Route[] {
  return TABLE.filter(({ parts: wanted }) => isOf(wanted, parts)).map(({ route }) => route);
}

function isOf(wanted: readonly string[], parts: readonly string[]): boolean {
  return (
    wanted.length === parts.length &&
    wanted.every((part, index) => (part === "{id}" ? parts[index] !== "" : part === parts[index]))
  );
}

function idIn({ path }: Route, parts: readonly string[]): string {
  const index = path.split("/").indexOf("{id}");
  if (index < 0) return "";
  try {
    return decodeURIComponent(parts[index] ?? "");
  } catch (cause) {
    const faults = [{ place: "path", message: 'has a "%" that begins no valid UTF-8 escape; write it as %25' }];
    throw new ProcmanError("input-invalid", `Cannot take this request: "path" ${faults[0]?.message}`, {
      cause,
      faults,
    });
  }
}

function unknownPath(path: string): ProcmanError {
  const near = didYouMean(
    path,
    TABLE.map(({ route }) => route.path),
  );
  return new ProcmanError(
    "path-unknown",
    `Cannot find ${shown(path)}: there is no such path.${near} See GET /openapi.json`,
  );
}

function shown(path: string): string {
  return JSON.stringify(path.length > 100 ? `${path.slice(0, 100)}…` : path);
}
