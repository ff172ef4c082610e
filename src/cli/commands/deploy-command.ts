/** `procman deploy`: makes a release of a folder, an archive or a commit, and puts it in use. */
import { type Command, Option } from "commander";
import type { Client } from "../../client/client.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printable, printableJson } from "../../core/base/printable.ts";
import { deploymentEnd } from "../../core/contract/deployment-end.ts";
import type { DeploymentRecord, DeployOrder } from "../../core/contract/deployment-record.ts";
import type { RolloutAction } from "../../core/contract/rollout-record.ts";
import { removeUpload } from "../../core/releases/upload-path.ts";
import type { RolloutOptions } from "../../satellites/hosts/ongoing-rollout.ts";
import { asTyped } from "../config-option.ts";
import { connect } from "../connected.ts";
import { orderFor } from "../deploy-order.ts";
import { secondsTo, withTarget } from "../options.ts";
import { waitFor } from "../output/progress.ts";
import { rolledOut, withRollout } from "../rollout-options.ts";
import { placeOfFile, type TargetOptions } from "../target.ts";

/** Seconds. */
const DEFAULT_TIMEOUT_SECONDS = 3_600;
const LONGEST_SECONDS = 86_400;

type DeployOptions = TargetOptions & {
  readonly wait?: boolean;
  readonly dryRun?: boolean;
  readonly timeout?: number;
  readonly json?: boolean;
  readonly onHost?: boolean;
  readonly uploaded?: string;
};

export function define(parent: Command): void {
  const command = withTarget(
    parent
      .command("deploy")
      .description(
        'Makes a release of a folder, an archive of tar or a Git commit, as "releases" of the configuration says, and puts it in use: copies it, prepares it, switches the link, applies the configuration file if it has changed, and restarts the processes of the release, clusters one instance after another. If anything fails, the release before is in use again. With --host, the source is of this machine, and is uploaded by ssh. Without an argument and with --wait: follows the deployment that is under way, or shows the last one.',
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
    .option("--on-host", "the source is the absolute path of a folder or archive on the machine of --host")
    .option("--json", "print the API record")
    .addOption(new Option("--uploaded <source>", "what the upload is made from").hideHelp())
    .action(deploy);
  withRollout(command, true);
}

async function deploy(source: string | undefined, options: DeployOptions & RolloutOptions): Promise<void> {
  const { wait = false, dryRun = false, onHost = false, host } = options;
  if (source === undefined && (dryRun || !wait))
    throw new ProcmanError(
      "usage",
      "Cannot deploy: name a folder, an archive or a commit; --wait alone follows the present deployment",
    );
  if (onHost && (source === undefined || host === undefined))
    throw new ProcmanError("usage", "Cannot deploy: --on-host needs a source, and --host");
  const order = source === undefined ? undefined : orderFor(source, options);
  if (await rolledOut({ ...options, isThere: onHost }, () => rolledAction(order), true)) return;
  if (host !== undefined) {
    const { deployOnHost } = await import("../../satellites/hosts/deploy-on-host.ts");
    const { name, config, timeout, json = false } = options;
    const words = optionWords({ wait, timeout, json, config, name });
    if (await deployOnHost(host, { order, isThere: onHost, dryRun, options: words })) return;
  }
  await deployHere(order, options);
}

/** As they are typed. */
function optionWords(options: Readonly<Record<string, boolean | string | number | undefined>>): readonly string[] {
  return Object.entries(options).flatMap(([name, value]) =>
    value === undefined || value === false ? [] : [`--${name}`, ...(value === true ? [] : [String(value)])],
  );
}

async function deployHere(
  order: DeployOrder | undefined,
  { wait = false, dryRun = false, timeout = DEFAULT_TIMEOUT_SECONDS, json = false, uploaded, ...target }: DeployOptions,
): Promise<void> {
  const client = await connect(target, placeOfFile(target));
  const begun =
    order === undefined
      ? await client.deployment("latest")
      : await begin(client, { ...order, ...(uploaded !== undefined && { uploaded }), ...(dryRun && { dryRun }) });
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

/** @throws {ProcmanError} `usage` */
function rolledAction(order: DeployOrder | undefined): RolloutAction {
  if (order !== undefined) return { kind: "deploy", order };
  throw new ProcmanError(
    "usage",
    'Cannot deploy: name a folder, an archive or a commit; "procman rollout status" follows',
  );
}

function end(record: DeploymentRecord, json: boolean, text: string): void {
  if (json) process.stdout.write(`${printableJson(record, 2)}\n`);
  else if (record.result !== "planned") process.stdout.write(`${printable(text)}\n`);
}

/** An upload that isn't used is removed. */
async function begin(client: Pick<Client, "deploy">, order: DeployOrder): Promise<DeploymentRecord> {
  try {
    return await client.deploy(order);
  } catch (error) {
    // By a broken connection it may have begun.
    if (error instanceof ProcmanError && error.code !== "service-down") await removeUpload(order);
    throw error;
  }
}
