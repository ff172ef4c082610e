/** Where `procman deploy --host` puts what it brings to a machine. */
import { rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { DeployOrder } from "../contract/deployment-record.ts";

/** Below the user's folder of states. An upload is `ID/folder` or `ID/archive` in there. */
export const UPLOADS = "procman/uploads";

/** Only such a place is removed after a deployment. */
export function isUpload(path: string): boolean {
  return /^\/(?:.*\/)?procman\/uploads\/\w[\w.-]*\/(?:folder|archive)$/.test(path) && !path.includes("/../");
}

/** @throws Error with the problem */
export function checkUpload({ uploaded, folder, tarball = "" }: DeployOrder): void {
  const path = folder ?? tarball;
  if (uploaded !== undefined && !isUpload(path)) throw new Error(`"uploaded" is for uploads, and ${path} is none`);
}

/** Removes the upload of the order, if it has one. */
export async function removeUpload({ uploaded, folder, tarball = "" }: DeployOrder): Promise<void> {
  const path = folder ?? tarball;
  if (uploaded !== undefined && isUpload(path)) await rm(dirname(path), { recursive: true, force: true });
}
