/** `procman mcp`: serves AI agents by the Model Context Protocol. Its own bundle does the work, and parses the arguments. */
import { join } from "node:path";
import type { Command } from "commander";
import { runCached } from "../../core/os/code-cache.ts";
import { withTarget } from "../options.ts";
import type { TargetOptions } from "../target.ts";
import { listed } from "../token-limits.ts";

export type McpOptions = TargetOptions & {
  readonly scope: string;
  readonly process?: readonly string[];
  readonly group?: readonly string[];
  readonly allowRun?: boolean;
  readonly printSkill?: boolean;
};

export function define(parent: Command): void {
  defineMcp(parent, () => runCached(join(import.meta.dirname, "mcp-main.cjs"), "exit"));
}

export function defineMcp(parent: Command, action: (options: McpOptions) => Promise<void> | void): void {
  const command = parent
    .command("mcp")
    .description(
      "Lets AI agents see, understand and control the processes: a server of the Model Context Protocol (MCP) on standard input and output, which a client such as Claude Code or Cursor starts. It opens no port. Its rights end with it, and each action is logged under the name of the client.",
    )
    .option("--scope <scopes>", "what the agent may do: read, control, input (to type into processes)", "read,control")
    .option("--process <ids>", "only these processes, instances or clusters, separated by commas", listed)
    .option("--group <names>", "only these groups, separated by commas", listed)
    .option("--allow-run", "also offer tools that take a command line")
    .option("--print-skill", "print a skill file for agents, and end");
  withTarget(command).action(action);
}
