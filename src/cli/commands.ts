/** All commands. Those that speak with a running procman are here, as they are used most; each other is loaded when it is named. */
import { CONTROL } from "./control-commands.ts";
import type { CommandName } from "./overview.ts";
import type { CommandModule } from "./program.ts";

export const COMMANDS: Readonly<Record<CommandName, () => CommandModule | Promise<CommandModule>>> = {
  ...CONTROL,
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
