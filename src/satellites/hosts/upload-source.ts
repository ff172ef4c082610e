/** What is uploaded for a deployment: a folder or an archive of this machine, or a commit, as an archive. */
import { rmSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { ProcmanError, reasonOf } from "../../core/base/errors.ts";
import type { DeployOrder } from "../../core/contract/deployment-record.ts";
import { archiveCommit, commitOf } from "../../core/releases/release-copy.ts";
import { clientFolder } from "./client-folder.ts";
import type { UploadSource } from "./upload.ts";

export type PreparedSource = {
  readonly source: UploadSource;
  /** For `DeployOrder.uploaded`. */
  readonly label: string;
};

/** Removes what was made for it when `use` is over. @throws {ProcmanError} `deploy-refused`, and errors of `use` */
export async function withUploadSource<Result>(
  { folder, tarball, ref = "", repository = "" }: DeployOrder,
  use: (prepared: PreparedSource) => Promise<Result>,
): Promise<Result> {
  const machine = hostname();
  if (folder !== undefined) return use({ source: { folder }, label: `${folder} on ${machine}` });
  if (tarball !== undefined) return use({ source: { tarball }, label: `${tarball} on ${machine}` });
  const place = clientFolder("commit");
  try {
    const archive = join(place, "commit.tar");
    const commit = await archived(ref, repository, archive);
    return await use({
      source: { tarball: archive },
      label: `${ref} (${commit.slice(0, 12)}) of ${repository} on ${machine}`,
    });
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

async function archived(ref: string, repository: string, archive: string): Promise<string> {
  try {
    const commit = await commitOf(ref, repository);
    await archiveCommit(commit, repository, archive);
    return commit;
  } catch (error) {
    throw new ProcmanError("deploy-refused", `Cannot deploy: ${reasonOf(error)}`, { cause: error });
  }
}
