/** What can be said of plugins without loading them. */

import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { faultsOf } from "../../base/schema-check.ts";
import { suggest } from "../../base/suggest.ts";
import type { PluginSpec } from "../../ipc/plugin-protocol.ts";
import { isShipped, SHIPPED, SHIPPED_OPTIONS } from "../../plugins/shipped/shipped-plugins.ts";
import type { RawPlugin } from "../config-schema.ts";
import type { JsonPath } from "../document.ts";
import type { PartialConfig } from "../partial.ts";
import { type Finding, show } from "../problems.ts";

type PartialPlugin = NonNullable<NonNullable<PartialConfig["plugins"]>[number]>;

export function pluginErrors(plugin: PartialPlugin, path: JsonPath, strips: boolean): readonly Finding[] {
  const { url, integrity } = plugin;
  if (url === undefined) return [];
  const message = addressProblem(url, strips);
  return [
    ...(message === undefined ? [] : [{ path: [...path, "url"], message }]),
    ...(integrity === undefined || isPath(url) || schemeOf(url) === "https"
      ? []
      : [
          {
            path: [...path, "integrity"],
            at: "key" as const,
            message: `Found "integrity" for ${show(url)}; allowed: for a file or an https address.`,
          },
        ]),
    ...optionErrors(plugin, path),
  ];
}

export function pluginWarnings({ url, integrity }: PartialPlugin, path: JsonPath): readonly Finding[] {
  if (url === undefined || integrity !== undefined || schemeOf(url) !== "https") return [];
  const message = `Found ${show(url)} without "integrity": whoever serves it could replace it. The log names the digest when it is fetched.`;
  return [{ path: [...path, "url"], message }];
}

function addressProblem(url: string, strips: boolean): string | undefined {
  const scheme = schemeOf(url);
  if (scheme === "http") return `Found ${show(url)}; allowed: an https address. What comes by plain http could be anybody's.`;
  if (scheme !== undefined && scheme !== "https" && scheme !== "file")
    return `Found ${show(url)}; allowed: an https address, a path as "./plugin.js", or the name of a package.`;
  if (scheme !== undefined && !isUrl(url)) return `Found ${show(url)}; allowed: an address that can be read.`;
  const own = ownName(url);
  if (own !== undefined && !isShipped(own)) return unknownOwn(url, own);
  if (isPath(url) && /\.[cm]?ts$/.test(url) && !strips)
    return `Found ${show(url)}; this Node runs no TypeScript (Node ${process.versions.node}; 22.18 and later do). Remedies: use a later Node, compile it to JavaScript.`;
  return undefined;
}

function unknownOwn(url: string, name: string): string {
  const near = suggest(name, SHIPPED);
  const hint = near === undefined ? "" : ` Did you mean "procman/${near}"?`;
  return `Found ${show(url)}; with procman come ${SHIPPED.map((each) => `"procman/${each}"`).join(", ")}.${hint}`;
}

/** Only those that come with procman are known. What has variables in it is known when it is started. */
function optionErrors({ url = "", options = {} }: PartialPlugin, path: JsonPath): readonly Finding[] {
  const own = ownName(url);
  if (own === undefined || !isShipped(own)) return [];
  return faultsOf(options, SHIPPED_OPTIONS[own], "options")
    .map(({ place, message }) => ({ path: [...path, ...stepsOf(place)], message: `${place} ${message}` }))
    .filter((finding) => !hasVariable(options, finding.path.slice(path.length + 1)));
}

/** `options.on[1]` */
export function stepsOf(place: string): JsonPath {
  return [...place.matchAll(/[^.[\]]+/g)].map(([step]) => (/^\d+$/.test(step) ? Number(step) : step));
}

function hasVariable(options: unknown, path: JsonPath): boolean {
  let value = options;
  for (const step of path) value = (value as Record<string | number, unknown> | undefined)?.[step];
  return typeof value === "string" && value.includes("${");
}

function isUrl(url: string): boolean {
  try {
    return url.startsWith("file:") ? fileURLToPath(url) !== "" : new URL(url).hostname !== "";
  } catch {
    return false;
  }
}

/** What an entry of `plugins` stands for: where its module is, and by which id it is known. */

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
function ownName(url: string): string | undefined {
  return url.startsWith(OWN) ? url.slice(OWN.length) : undefined;
}

/** `https`, `file`; undefined: a path, or a package. */
function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
}

function isPath(url: string): boolean {
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
