/** What an entry of `plugins` stands for: where its module is, and by which id it is known. */
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { type PluginSpec, SHIPPED, type Shipped } from "../contract/plugin-protocol.ts";
import type { RawPlugin } from "./schema.ts";

const OWN = "procman/";

export function pluginSpecs(raw: readonly RawPlugin[] | undefined, folder: string): readonly PluginSpec[] {
  const taken = new Set<string>();
  return (raw ?? []).map(({ url, integrity, options }) => ({
    id: freeId(url, taken),
    url,
    source: sourceOf(url, folder),
    ...(integrity === undefined ? {} : { integrity }),
    options: options ?? {},
  }));
}

/** The name of a plugin that comes with procman; undefined: it is somebody else's. */
export function ownName(url: string): string | undefined {
  return url.startsWith(OWN) ? url.slice(OWN.length) : undefined;
}

export function isShipped(name: string): name is Shipped {
  return (SHIPPED as readonly string[]).includes(name);
}

/** `https`, `file`; undefined: a path, or a package. */
export function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
}

export function isPath(url: string): boolean {
  return /^(?:\.{1,2}(?:\/|$)|\/|file:)/.test(url);
}

/** Where its module is, if its address passes the checks. */
export function sourceOf(url: string, folder: string): PluginSpec["source"] {
  const own = ownName(url);
  if (own !== undefined && isShipped(own)) return { kind: "shipped", name: own };
  if (schemeOf(url) === "https") return { kind: "remote", url };
  if (isPath(url)) return { kind: "file", path: url.startsWith("file:") ? fileURLToPath(url) : resolve(folder, url) };
  return { kind: "package", name: url, folder };
}

/** `./plugins/slack.ts` is `slack`, `https://host/plugin@1.2.0.mjs` is `plugin`. */
function freeId(url: string, taken: Set<string>): string {
  const last =
    url
      .replace(/[?#].*$/, "")
      .split("/")
      .filter(Boolean)
      .at(-1) ?? "";
  const name = last
    .replace(/(?<=.)@.*$/, "")
    .replace(/\.[cm]?[jt]s$/, "")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^\.+/, "")
    .slice(0, 60);
  for (let number = 1; ; number += 1) {
    const id = `${name === "" ? "plugin" : name}${number === 1 ? "" : `-${number}`}`;
    if (taken.has(id)) continue;
    taken.add(id);
    return id;
  }
}
