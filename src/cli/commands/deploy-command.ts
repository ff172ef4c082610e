/** `procman deploy`: makes a release of a folder, an archive or a commit, and puts it in use. */
import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { ProcmanError } from "../../core/base/errors.ts";
import { printable, printableJson } from "../../core/base/printable.ts";
import { deploymentEnd } from "../../core/contract/deployment-end.ts";
import type { DeploymentRecord, DeployOrder } from "../../core/contract/deployment-record.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { asTyped } from "../config-option.ts";
import { connect } from "../connected.ts";
import { secondsTo, withTarget } from "../options.ts";
import { waitFor } from "../output/progress.ts";
import { placeOfFile, type TargetOptions } from "../target.ts";

/** Seconds. */
const DEFAULT_TIMEOUT_SECONDS = 3_600;
const LONGEST_SECONDS = 86_400;

type Options = TargetOptions & {
  readonly wait?: boolean;
  readonly dryRun?: boolean;
  readonly timeout?: number;
  readonly json?: boolean;
};

export function define(parent: Command): void {
  withTarget(
    parent
      .command("deploy")
      .description(
        'Makes a release of a folder, an archive of tar or a Git commit, as "releases" of the configuration says, and puts it in use: copies it, prepares it, switches the link, applies the configuration file if it has changed, and restarts the processes of the release, clusters one instance after another. If anything fails, the release before is in use again. Without an argument and with --wait: follows the deployment that is under way, or shows the last one.',
      ),
  )
    .argument(
      "[source]",
      "a folder, an archive of tar (also .tar.gz), or a commit, tag or branch of the Git repository here",
    )
    .option("--wait", "wait for the end, and show steps and output of the commands; it goes on if you leave")
    .option("--dry-run", "check everything, and print what would be done")
    .option(
      "--timeout <seconds>",
      `wait no longer than this (default: ${DEFAULT_TIMEOUT_SECONDS}); the deployment goes on`,
      secondsTo(LONGEST_SECONDS),
    )
    .option("--json", "print the API record")
    .action(deploy);
}

async function deploy(
  source: string | undefined,
  { wait = false, dryRun = false, timeout = DEFAULT_TIMEOUT_SECONDS, json = false, ...target }: Options,
): Promise<void> {
  if (source === undefined && (dryRun || !wait))
    throw new ProcmanError(
      "usage",
      "Cannot deploy: name a folder, an archive or a commit; --wait alone follows the present deployment",
    );
  const order = source === undefined ? undefined : orderFor(source);
  const client = await connect(target, placeOfFile(target));
  const begun =
    order === undefined
      ? await client.deployment("latest")
      : await client.deploy({ ...order, ...(dryRun && { dryRun: true as const }) });
  const print = (lines: readonly string[]): void => {
    if (lines.length > 0 && !json) process.stdout.write(`${printable(lines.join("\n"))}\n`);
  };
  if (!wait || dryRun) {
    if (dryRun) print(begun.lines);
    return end(
      begun,
      json,
      `Deployment ${begun.number} of ${begun.release} has begun; "${asTyped("deploy --wait", target)}" follows it.`,
    );
  }
  const record = await waitFor(
    {
      doing: () => "deploying",
      continues: () => `the deployment goes on, "${asTyped("deploy --wait", target)}" follows it`,
    },
    deploymentEnd(client, begun, { waitSeconds: timeout, onLines: print }),
  );
  end(json ? await client.deployment(String(record.number)) : record, json, `Release ${record.release} is in use.`);
}

function end(record: DeploymentRecord, json: boolean, text: string): void {
  if (json) process.stdout.write(`${printableJson(record, 2)}\n`);
  else if (record.result !== "planned") process.stdout.write(`${printable(text)}\n`);
}

/** What is there wins over a name in Git, unless it could be both. @throws {ProcmanError} `usage` */
function orderFor(source: string): DeployOrder {
  const folder = startFolder();
  const path = resolve(folder, source);
  const stat = statSync(path, { throwIfNoEntry: false });
  const isPlain = !/^(?:\.{0,2}\/|\.{1,2}$)/.test(source);
  if (stat === undefined || (isPlain && stat.isDirectory() && isRef(source, folder))) {
    if (stat !== undefined)
      throw new ProcmanError(
        "usage",
        `Cannot deploy "${source}": it is a folder and a name in Git; write "./${source}" or "refs/heads/${source}"`,
      );
    if (/\.(?:tar|tgz|tar\.\w+)$/.test(source) || !isPlain)
      throw new ProcmanError("deploy-refused", `Cannot deploy: there is no ${path}`);
    return { ref: source, repository: folder };
  }
  return stat.isDirectory() ? { folder: path } : { tarball: path };
}

function isRef(name: string, folder: string): boolean {
  try {
    execFileSync("git", ["-C", folder, "rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`], {
      stdio: "ignore",
    });
    return true;
  } catch {
    return false;
  }
}
