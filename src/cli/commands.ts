/** The modules of commands. Those that speak with a running procman are here, as they are used most; each other is loaded when it is named. */
import type { Command } from "commander";
import { actionCommand } from "./commands/act.ts";
import * as logs from "./commands/logs.ts";
import * as next from "./commands/next.ts";
import * as status from "./commands/status.ts";
import * as why from "./commands/why.ts";
import type { CommandName } from "./overview.ts";

type CommandModule = { readonly define: (parent: Command) => void };

type Loader = () => CommandModule | Promise<CommandModule>;

export const COMMANDS: Readonly<Record<CommandName, Loader>> = {
  status: () => status,
  logs: () => logs,
  why: () => why,
  next: () => next,
  start: () => actionCommand("start"),
  stop: () => actionCommand("stop"),
  restart: () => actionCommand("restart"),
  block: () => actionCommand("block"),
  unblock: () => actionCommand("unblock"),
  scale: () => import("./commands/scale.ts"),
  plan: () => import("./commands/plan.ts"),
  reload: () => import("./commands/reload.ts"),
  run: () => import("./commands/run.ts"),
  terminate: () => import("./commands/terminate.ts"),
  upgrade: () => import("./commands/upgrade.ts"),
  init: () => import("./commands/init.ts"),
  append: () => import("./commands/append.ts"),
  remove: () => import("./commands/remove.ts"),
  validate: () => import("./commands/validate.ts"),
  schema: () => import("./commands/schema.ts"),
  token: () => import("./commands/token.ts"),
  completion: () => import("./commands/completion.ts"),
};

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name);
}
