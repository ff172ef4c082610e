/** The one table of routes. */
import { ACTIONS, type Action, type Control } from "./control.ts";
import type { Scope } from "./token.ts";

export type Route = {
  readonly method: "GET" | "POST";
  /** `{id}` stands for one segment. */
  readonly path: string;
  readonly scope: Scope;
  readonly summary: string;
  /** Status of success. */
  readonly status: number;
  readonly answer: (control: Control, id: string) => Promise<unknown>;
};

const VERBS: Readonly<Record<Action, string>> = {
  start: "Start the process",
  stop: "Stop the process",
  restart: "Restart the process; start it when it is idle",
  block: "Block the process: no automatic restarts",
  unblock: "Lift a block",
};

const ROUTES: readonly Route[] = [
  {
    method: "GET",
    path: "/processes",
    scope: "read",
    summary: "All processes with their states",
    status: 200,
    answer: (control) => control.processes(),
  },
  {
    method: "GET",
    path: "/processes/{id}",
    scope: "read",
    summary: "One process",
    status: 200,
    answer: (control, id) => control.process(id),
  },
  ...ACTIONS.map(
    (action) =>
      ({
        method: "POST",
        path: `/processes/{id}/${action}`,
        scope: "control",
        summary: VERBS[action],
        status: 200,
        answer: (control: Control, id: string) => control.act(id, action),
      }) as const,
  ),
  { method: "GET", path: "/state", scope: "read", summary: "State of the application", status: 200, answer: (control) => control.state() },
  {
    method: "POST",
    path: "/terminate",
    scope: "admin",
    summary: "Stop everything and end",
    status: 202,
    answer: (control) => control.terminate(),
  },
];

export type Match = { readonly route: Route; readonly id: string } | { readonly allowed: readonly string[] };

/** The route of a request; or the methods that its path would take (none: there is no such path). */
export function matchRoute(method: string, path: string): Match {
  const hits = ROUTES.flatMap((route) => {
    const id = idIn(route.path, path);
    return id === undefined ? [] : [{ route, id }];
  });
  return hits.find(({ route }) => route.method === method) ?? { allowed: hits.map(({ route }) => route.method) };
}

function idIn(pattern: string, path: string): string | undefined {
  const [wanted, given] = [pattern.split("/"), path.split("/")];
  if (wanted.length !== given.length) return undefined;
  let id = "";
  for (const [index, part] of wanted.entries()) {
    if (part === "{id}") id = given[index] ?? "";
    else if (part !== given[index]) return undefined;
  }
  return id === "" && pattern.includes("{id}") ? undefined : id;
}
