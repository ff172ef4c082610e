/** What the configuration file has, and the running procman does not have yet. */
import { resolve } from "node:path";
import { livingHolder } from "../client/connection/endpoint-file.ts";
import { ProcmanError } from "../core/base/errors.ts";
import { shellQuote } from "../core/base/shell-quote.ts";
import { statIfSeen } from "../core/os/files.ts";
import { startFolder } from "../core/os/start-folder.ts";
import { groupsInFile, idsInFile } from "./completion-candidates.ts";
import { asTyped } from "./config-option.ts";
import { otherFileText, type TargetOptions, targetFile, targetLocation } from "./target.ts";

/** Whether a procman runs this configuration file. */
export function isRunning(config: string | undefined): boolean {
  const location = targetLocation({ config });
  return livingHolder(location.stateDir) !== undefined && otherFileText(location, { config }) === undefined;
}

/** The same error with the remedy for a script, as `pm2 start` takes it; undefined: there is no such file. */
export function unaddedScript(id: string, { message }: ProcmanError): ProcmanError | undefined {
  if (!/[./]/.test(id) || statIfSeen(resolve(startFolder(id), id))?.isFile() !== true) return undefined;
  return new ProcmanError("process-unknown", `${message} "procman add ${shellQuote(id)}" adds this file.`);
}

/** The error for an id that the running procman does not know; undefined if the file does not have it either. */
export function unappliedId(id: string, target: TargetOptions): ProcmanError | undefined {
  if (target.host !== undefined) return undefined;
  const config = targetFile(target);
  if (target.name !== undefined && config === undefined) return undefined;
  const isInFile = idsInFile(config).some(
    ({ value }) => value === id || (id.startsWith(`${value}-`) && /^\d+$/.test(id.slice(value.length + 1))),
  );
  const isGroup = groupsInFile(config).some(({ value }) => value === id);
  if (!isInFile && !isGroup) return undefined;
  const reason = `the configuration file has it, but procman runs without it; "${asTyped("reload", target)}" applies the file`;
  return new ProcmanError(
    "process-unknown",
    `Cannot find ${isGroup ? "" : "process "}${JSON.stringify(id)}: ${reason}`,
  );
}
