/** Takes the apps of a running pm2 over, one by one: stopped there, started here; all back if one fails. */
import { promises as fs } from "node:fs";
import { join } from "node:path";
import type { Client } from "../client/client.ts";
import { connectTo } from "../client/connection/connect.ts";
import { outputOf, START_TIMEOUT_MS, startDaemon, waitForStart } from "../client/connection/daemon.ts";
import { livingHolder } from "../client/connection/endpoint-file.ts";
import { packageRoot } from "../client/connection/package-root.ts";
import { waitForEnd } from "../client/connection/terminate.ts";
import { ProcmanError } from "../core/base/errors.ts";
import { check } from "../core/config/load.ts";
import type { Config } from "../core/config/spec.ts";
import { commentedText } from "../satellites/import/commented-jsonc.ts";
import type { ConfigurationDraft, ProcessDraft } from "../satellites/import/configuration-draft.ts";
import { createFile, replaceFile } from "./edit-file.ts";
import { runningIds, startInPm2, stopInPm2 } from "./running-pm2.ts";

/** How long one app may take to come up. Seconds. */
const START_SECONDS = 300;

export type TakeOver = {
  readonly configuration: ConfigurationDraft;
  /** `pm2 jlist` */
  readonly list: readonly unknown[];
  /** The file that is created. */
  readonly file: string;
  readonly shownAs: string;
};

/** @throws {ProcmanError} `process-failed`, after everything is as it was: the file is gone, and the apps run in pm2 */
export async function takeOver({ configuration, list, file, shownAs }: TakeOver): Promise<void> {
  const ids = runningIds(list);
  const { fields, notes, dropped, profiles } = configuration;
  const content = { fields, notes, dropped, profiles };
  const textOf = (processes: readonly ProcessDraft[]): string =>
    commentedText({ ...content, processes }, ["--from-running pm2"]);
  const config = check({ file, shownAs, text: textOf([]) });
  if (livingHolder(config.stateDir) !== undefined)
    throw new ProcmanError(
      "already-running",
      `Cannot take over: a procman is running with ${config.stateDir}; "procman terminate" ends it`,
    );
  await createFile(file, textOf([]));
  const taken: ProcessDraft[] = [];
  let isInterrupted = false;
  const interrupt = (): void => {
    isInterrupted = true;
  };
  process.on("SIGINT", interrupt);
  try {
    const client = await started(config);
    for (const draft of configuration.processes) {
      if (isInterrupted) throw new ProcmanError("interrupted", "Ctrl-C was pressed");
      taken.push(draft);
      await stopInPm2(ids.get(draft.name) ?? []);
      await replaceFile(file, textOf(taken));
      await appliedBy(client, draft);
      process.stdout.write(`${draft.id}: taken over\n`);
    }
  } catch (error) {
    if (!(error instanceof ProcmanError)) throw error;
    await back(
      config,
      taken.flatMap(({ name }) => ids.get(name) ?? []),
    );
    const now = "everything is back in pm2, and the file is removed";
    throw new ProcmanError(error.code, `Cannot take over from pm2: ${error.message}; ${now}`, { cause: error });
  } finally {
    process.off("SIGINT", interrupt);
  }
}

/** procman without a process. */
async function started(config: Config): Promise<Client> {
  const daemon = startDaemon(config, join(packageRoot(), "dist/procman.cjs"), []);
  try {
    const end = await waitForStart(config, daemon, START_TIMEOUT_MS);
    if (end !== undefined)
      throw new ProcmanError("service-down", `procman can't start: ${outputOf(daemon, end).trim()}`);
  } finally {
    daemon.child.unref();
  }
  return connectTo(config);
}

async function appliedBy(client: Client, draft: ProcessDraft): Promise<void> {
  const { processes } = await client.reload({ waitSeconds: START_SECONDS });
  const failed = processes.find(({ problem }) => problem !== undefined);
  if (failed !== undefined)
    throw new ProcmanError("process-failed", `"${draft.id}" is not up here: it ${failed.problem}`);
}

/** First everything ends here. */
async function back(config: Config, ids: readonly string[]): Promise<void> {
  if (livingHolder(config.stateDir) !== undefined) {
    const client = await connectTo(config);
    await waitForEnd(config.stateDir, () => client.terminate());
  }
  await startInPm2(ids);
  await fs.rm(config.file, { force: true });
}
