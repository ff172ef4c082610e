/** The routes of commands with the surroundings of a process. */
import {
  EXEC_INPUT,
  EXEC_ORDER,
  type ExecInput,
  type ExecOrder,
  executed,
  LAUNCH_ORDER,
  type LaunchOrder,
} from "./execution.ts";
import { EXEC } from "./query.ts";
import type { Route } from "./route.ts";

export const EXEC_ROUTES = {
  exec: {
    method: "POST",
    path: "/processes/{id}/exec",
    scope: "admin",
    summary: "Execute a command with user, folder, environment, secrets and limits of the process",
    description:
      "Needs `api.exec` in the configuration, except over the Unix socket. The command is ended when the client goes away.",
    parameters: EXEC,
    body: { name: "ExecOrder", schema: EXEC_ORDER },
    lasts: true,
    status: 200,
    output: { kind: "json", schema: "ExecRecord" },
    errors: [404, 409, 413, 415, 503],
    answer: (_, { id, body, signal, executor }) =>
      executed(executor().execute(id, { stdin: "", ...(body as ExecOrder) }, signal)),
    follow: {
      output: { kind: "stream", schema: "ExecItem" },
      answer: (_, { id, body, signal, executor }) => executor().execute(id, body as ExecOrder, signal),
    },
  },
  stdin: {
    method: "POST",
    path: "/exec/{id}/stdin",
    idMeaning: "`session` of the command, as its stream has it.",
    scope: "admin",
    summary: "Write to the standard input of a command; answered when the command has room for more",
    parameters: {},
    body: { name: "ExecInput", schema: EXEC_INPUT },
    status: 200,
    output: { kind: "json" },
    errors: [404, 413, 415],
    answer: (_, { id, body, executor }) => executor().write(id, body as ExecInput),
  },
  launch: {
    method: "POST",
    path: "/processes/{id}/launch",
    scope: "admin",
    summary: "How a command of the process is started, secrets included, for a caller that starts it itself",
    description: "Needs `api.exec` in the configuration, except over the Unix socket, where `procman exec` asks it.",
    parameters: {},
    body: { name: "LaunchOrder", schema: LAUNCH_ORDER },
    status: 200,
    output: { kind: "json", schema: "ExecLaunch" },
    errors: [404, 409, 413, 415, 503],
    answer: (_, { id, body, executor }) => executor().launch(id, body as LaunchOrder),
  },
} as const satisfies Readonly<Record<string, Route>>;
