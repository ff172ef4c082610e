/** `procman deploy --host`: brings the source there by ssh, and runs the command there. */
import { interruptible, withProgress } from "../../cli/output/progress.ts";
import { addressIn } from "../../client/connection/host-address.ts";
import { hostsNamed } from "../../client/connection/host-file.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import type { DeployOrder } from "../../core/contract/deployment-record.ts";
import { runRemote, type SshHost, sshHost } from "./ssh.ts";
import { removeUpload, uploadTo } from "./upload.ts";
import { withUploadSource } from "./upload-source.ts";

type DeployOnHost = {
  /** Absent: the command follows a deployment. */
  readonly order: DeployOrder | undefined;
  /** The source is there already. */
  readonly isThere: boolean;
  readonly dryRun: boolean;
  /** The other options of the command. */
  readonly options: readonly string[];
};

/** Resolves with false if the API there is to be asked from here. @throws {ProcmanError} */
export async function deployOnHost(name: string, { order, isThere, dryRun, options }: DeployOnHost): Promise<boolean> {
  const [host] = hostsNamed(name);
  const there = host && sshHost(host);
  if (host === undefined || there === undefined) {
    if (host !== undefined && order !== undefined && !isThere && addressIn(host.url).kind === "https")
      throw new ProcmanError(
        "usage",
        `Cannot deploy on ${host.name}: it is reached by https, which uploads nothing; bring the release there, and name it with --on-host, or add ${host.name} by ssh://USER@HOST`,
      );
    return false;
  }
  const words = [...(dryRun ? ["--dry-run"] : []), ...options];
  if (order !== undefined && !isThere) process.exitCode = await deployUploaded(there, order, { dryRun, words });
  else {
    const path = order?.folder ?? order?.tarball;
    process.exitCode = await runRemote(there, ["deploy", ...(path === undefined ? [] : [path]), ...words]);
  }
  return true;
}

async function deployUploaded(
  there: SshHost,
  order: DeployOrder,
  { dryRun, words }: { readonly dryRun: boolean; readonly words: readonly string[] },
): Promise<number> {
  const mayPrompt = process.stdin.isTTY;
  const { path, label } = await withUploadSource(order, async ({ source, label }) => {
    const upload = interruptible((signal) => uploadTo(there, source, newId(), { mayPrompt, signal }));
    return { path: await withProgress(() => `uploading to ${there.name}`, upload), label };
  });
  const code = await runRemote(there, ["deploy", path, "--uploaded", label, ...words]);
  if (dryRun) await removeUpload(there, path, mayPrompt);
  return code;
}

function newId(): string {
  return `${Date.now()}-${process.pid}`;
}
