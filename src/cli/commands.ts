/** The one table of commands: name, summary, and the module that is loaded only when it is named. */
import type { Command } from "commander";

export type CommandModule = { readonly define: (parent: Command) => void };

type Row = { readonly summary: string; readonly load: () => Promise<CommandModule> };

export const COMMANDS: Readonly<Record<string, Row>> = {
  run: { summary: "Start what the configuration names, and supervise it until it is told to end", load: () => import("./commands/run.ts") },
  status: { summary: "Show all processes with their states", load: () => import("./commands/status.ts") },
  terminate: { summary: "Stop all processes and end procman", load: () => import("./commands/terminate.ts") },
  token: { summary: "Make a token for the API", load: () => import("./commands/token.ts") },
  upgrade: {
    summary: "Replace the running procman by this version; no process is restarted",
    load: () => import("./commands/upgrade.ts"),
  },
  init: { summary: "Make a configuration file", load: () => import("./commands/init.ts") },
  append: { summary: "Add a process to the configuration file", load: () => import("./commands/append.ts") },
  remove: { summary: "Remove a process from the configuration file", load: () => import("./commands/remove.ts") },
  validate: { summary: "Check the configuration file and show every problem at once", load: () => import("./commands/validate.ts") },
  schema: { summary: "Print the JSON schema of the configuration file", load: () => import("./commands/schema.ts") },
};

/** What needs no module of its own. */
export const BUILT_IN: Readonly<Record<string, string>> = { version: "Print the version", help: "Print this, or the help of a command" };
