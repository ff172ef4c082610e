/** The tools that a session has. */
import type { McpRights } from "./mcp-ports.ts";
import type { Tool, ToolNeed } from "./tool.ts";
import { actTools } from "./tools/act-tools.ts";
import { fileTools } from "./tools/file-tools.ts";
import { historyTools } from "./tools/history-tools.ts";
import { logsTool } from "./tools/logs-tool.ts";
import { metricsTool } from "./tools/metrics-tool.ts";
import { reloadTools } from "./tools/reload-tools.ts";
import { runTool } from "./tools/run-tool.ts";
import { sendTool } from "./tools/send-tool.ts";
import { statusTool } from "./tools/status-tool.ts";
import { waitTool } from "./tools/wait-tool.ts";
import { whyTool } from "./tools/why-tool.ts";

/** In the order in which an agent needs them. */
export const TOOLS: readonly Tool[] = [
  statusTool,
  whyTool,
  logsTool,
  waitTool,
  ...actTools,
  sendTool,
  ...reloadTools,
  ...fileTools,
  ...historyTools,
  runTool,
  metricsTool,
];

/** What a session may not do, it isn't offered. */
export function toolsFor({ mayControl, mayType, limits, allowsRun, isLocal }: McpRights): readonly Tool[] {
  const has: Readonly<Record<ToolNeed, boolean>> = {
    read: true,
    control: mayControl,
    input: mayType,
    // A reload, and the file, concern all processes.
    reload: mayControl && limits === undefined,
    here: isLocal,
    file: isLocal && limits === undefined,
    run: allowsRun && mayControl,
  };
  return TOOLS.filter(({ needs }) => needs.every((need) => has[need]));
}
