/** The commands that see and control a running procman. */
import { actionCommand } from "./commands/act.ts";
import * as logs from "./commands/logs.ts";
import * as next from "./commands/next.ts";
import * as plan from "./commands/plan.ts";
import * as reload from "./commands/reload.ts";
import * as scale from "./commands/scale.ts";
import * as status from "./commands/status.ts";
import * as why from "./commands/why.ts";
import type { ControlName } from "./overview.ts";
import type { CommandModule } from "./program.ts";

export const CONTROL: Readonly<Record<ControlName, () => CommandModule>> = {
  status: () => status,
  logs: () => logs,
  why: () => why,
  next: () => next,
  start: () => actionCommand("start"),
  stop: () => actionCommand("stop"),
  restart: () => actionCommand("restart"),
  block: () => actionCommand("block"),
  unblock: () => actionCommand("unblock"),
  scale: () => scale,
  plan: () => plan,
  reload: () => reload,
};
