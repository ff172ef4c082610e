/** The files of the dashboard: those that the manifest of the build names, and no others. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { isNotFound, ProcmanError } from "../base/errors.ts";
import type { DashboardFile } from "../contract/dashboard-access.ts";

/** Scripts, styles and requests of this server only; no inline code, no frames, and no text that becomes HTML. */
export const POLICY: string = [
  "default-src 'none'",
  ...["script-src", "style-src", "img-src", "connect-src"].map((directive) => `${directive} 'self'`),
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join("; ");

const PAGE_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": POLICY,
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** The name has a hash of the content. */
const ASSET_HEADERS = {
  "cache-control": "public, max-age=31536000, immutable",
  "cross-origin-resource-policy": "same-origin",
} as const;

/** `page` and `assets`: media types by the names of files. */
export type DashboardManifest = { readonly page: string; readonly assets: Readonly<Record<string, string>> };

/** Reads all files at once, so that an upgrade of the package doesn't mix two versions. Rejects with `path-unknown` if there are none. */
export async function dashboardFiles(folder: string): Promise<DashboardFiles> {
  const read = async (name: string, headers: DashboardFile["headers"]): Promise<DashboardFile> => {
    const brotli = await readFile(join(folder, `${name}.br`));
    return { brotli, plain: () => promisify(process.getBuiltinModule("node:zlib").brotliDecompress)(brotli), headers };
  };
  try {
    const { page, assets } = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as DashboardManifest;
    const entries = Object.entries(assets).map(
      async ([name, type]) => [name, await read(name, { "content-type": type, ...ASSET_HEADERS })] as const,
    );
    return new DashboardFiles(await read(page, PAGE_HEADERS), new Map(await Promise.all(entries)));
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    throw new ProcmanError(
      "path-unknown",
      `Cannot show the dashboard: its files are missing in ${folder}; reinstall procman`,
      {
        cause,
      },
    );
  }
}

export class DashboardFiles {
  readonly page: DashboardFile;
  readonly #assets: ReadonlyMap<string, DashboardFile>;

  constructor(page: DashboardFile, assets: ReadonlyMap<string, DashboardFile>) {
    this.page = page;
    this.#assets = assets;
  }

  /** @throws {ProcmanError} `path-unknown` */
  asset(name: string): DashboardFile {
    const file = this.#assets.get(name);
    if (file !== undefined) return file;
    throw new ProcmanError(
      "path-unknown",
      `Cannot find ${JSON.stringify(name.slice(0, 100))}: the dashboard has no such file; reload the page`,
    );
  }
}
