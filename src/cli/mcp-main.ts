/** Entry of `procman mcp`, in its own bundle: it has the SDK of the protocol, which no other command reads, and needs no other command. */
import { Command } from "commander";
import { packageRoot } from "../client/connection/package-root.ts";
import { ProcmanError } from "../core/base/errors.ts";
import { type ConfigText, read } from "../core/config/config-file.ts";
import { startFolder } from "../core/os/start-folder.ts";
import type { McpPorts, McpRights } from "../satellites/mcp/mcp-ports.ts";
import { defineMcp, type McpOptions } from "./commands/mcp-command.ts";
import { asTyped } from "./config-option.ts";
import { checkEdited, isValid, replaceFile } from "./edit-file.ts";
import { endWith, runArguments } from "./one-command.ts";
import { type TargetOptions, targetFile, targetPlace } from "./target.ts";
import { limitsIn } from "./token-limits.ts";

const program = new Command("procman");
defineMcp(program, mcp);
endWith(runArguments(program, process.argv.slice(2)));

async function mcp({ printSkill = false, ...options }: McpOptions): Promise<void> {
  if (printSkill) {
    const { SKILL } = await import("../satellites/mcp/skill-text.ts");
    return void process.stdout.write(SKILL);
  }
  const rights = rightsOf(options);
  const { serveMcp } = await import("../satellites/mcp/serve.ts");
  await serveMcp(portsFor(options), rights);
}

function rightsOf({ scope, process: ids, group, allowRun = false, ...target }: McpOptions): McpRights {
  const scopes = scope.split(/[\s,]+/);
  const foreign = scopes.find((each) => !["read", "control", "input"].includes(each));
  if (foreign !== undefined)
    throw usage(
      `--scope takes read, control and input, not ${JSON.stringify(foreign)}; an agent never has the scope admin`,
    );
  const isLimited = ids !== undefined || group !== undefined;
  const isLocal = target.host === undefined;
  // An unknown host is an error now, not of each call.
  if (!isLocal) targetPlace(target);
  if (!isLocal && isLimited)
    throw usage(`--process and --group don't limit the token of a host; make one there: "procman token --process …"`);
  const config = isLimited ? targetFile(target) : undefined;
  const limits = limitsIn({ config, process: ids, group }, "start the server");
  const rights = { mayControl: scopes.includes("control"), mayType: scopes.includes("input") };
  return { ...rights, ...(limits && { limits }), allowsRun: allowRun, isLocal };
}

function portsFor({ config, name, host }: TargetOptions): McpPorts {
  const target = { config, name, host };
  const source = (): ConfigText => {
    const file = targetFile(target);
    if (file !== undefined || name === undefined) return read(file, startFolder(file));
    const why = `Cannot tell the configuration file of ${name}: name it with --config`;
    throw new ProcmanError("configuration-missing", why);
  };
  return {
    place: () => targetPlace(target),
    source,
    isValid,
    checkEdited,
    replaceFile,
    asTyped: (command) => asTyped(command, target),
    packageFolder: packageRoot(),
  };
}

function usage(why: string): ProcmanError {
  return new ProcmanError("usage", `Cannot start the server: ${why}`);
}
