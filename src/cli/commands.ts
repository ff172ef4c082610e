/** All commands; their modules are loaded on use. */
import type { Action } from "../core/contract/control.ts";
import type { CommandName } from "./output/overview.ts";
import type { CommandModule } from "./program.ts";

export const COMMANDS: Readonly<Record<CommandName, () => Promise<CommandModule>>> = {
  run: () => import("./commands/run-command.ts"),
  terminate: () => import("./commands/terminate-command.ts"),
  upgrade: () => import("./commands/upgrade-command.ts"),
  status: () => import("./commands/status-command.ts"),
  monitor: () => import("./commands/monitor-command.ts"),
  dashboard: () => import("./commands/dashboard-command.ts"),
  logs: () => import("./commands/logs-command.ts"),
  why: () => import("./commands/why-command.ts"),
  list: () => import("./commands/list-command.ts"),
  show: () => import("./commands/show-command.ts"),
  next: () => import("./commands/next-command.ts"),
  start: () => action("start"),
  stop: () => action("stop"),
  restart: () => action("restart"),
  block: () => action("block"),
  unblock: () => action("unblock"),
  disable: () => action("disable"),
  enable: () => action("enable"),
  scale: () => import("./commands/scale-command.ts"),
  signal: () => import("./commands/signal-command.ts"),
  flush: () => import("./commands/flush-command.ts"),
  plan: () => import("./commands/plan-command.ts"),
  reload: () => import("./commands/reload-command.ts"),
  install: () => import("./commands/install-command.ts"),
  uninstall: () => import("./commands/uninstall-command.ts"),
  init: () => import("./commands/init-command.ts"),
  add: () => import("./commands/add-command.ts"),
  append: () => import("./commands/append-command.ts"),
  remove: () => import("./commands/remove-command.ts"),
  import: () => import("./commands/import-command.ts"),
  validate: () => import("./commands/validate-command.ts"),
  export: () => import("./commands/export-command.ts"),
  schema: () => import("./commands/schema-command.ts"),
  host: () => import("./commands/host-command.ts"),
  token: () => import("./commands/token-command.ts"),
  completion: () => import("./commands/completion-command.ts"),
};

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name);
}

async function action(name: Action): Promise<CommandModule> {
  const { actionCommand } = await import("./commands/act-command.ts");
  return actionCommand(name);
}
