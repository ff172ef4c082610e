/** Checks of plugins that don't need to load them. */
import { fileURLToPath } from "node:url";
import { faultsOf } from "../../base/schema-check.ts";
import { suggest } from "../../base/suggest.ts";
import type { PluginSpec } from "../../ipc/plugin-protocol.ts";
import { isShipped, SHIPPED, SHIPPED_OPTIONS } from "../../plugins/shipped/shipped-plugins.ts";
import type { RawPlugin } from "../config-schema.ts";
import type { JsonPath } from "../document.ts";
import type { PartialConfig } from "../partial.ts";
import { type Finding, show } from "../problems.ts";
import { pathIn } from "./home-paths.ts";

type PartialPlugin = NonNullable<NonNullable<PartialConfig["plugins"]>[number]>;

export function pluginErrors(plugin: PartialPlugin, path: JsonPath, strips: boolean): readonly Finding[] {
  const { url, integrity } = plugin;
  if (url === undefined) return [];
  const findings: Finding[] = [];
  const problem = addressProblem(url, strips);
  if (problem !== undefined) findings.push({ path: [...path, "url"], message: problem });
  const message = `Found "integrity" for ${show(url)}; allowed: for a file or an https address.`;
  if (integrity !== undefined && !isPath(url) && schemeOf(url) !== "https")
    findings.push({ path: [...path, "integrity"], at: "key", message });
  return [...findings, ...optionErrors(plugin, path)];
}

export function pluginWarnings({ url, integrity }: PartialPlugin, path: JsonPath): readonly Finding[] {
  if (url === undefined || integrity !== undefined || schemeOf(url) !== "https") return [];
  const message = `Found ${show(url)} without "integrity": the server could replace it. The log names the digest when it is fetched.`;
  return [{ path: [...path, "url"], message }];
}

function addressProblem(url: string, strips: boolean): string | undefined {
  const scheme = schemeOf(url);
  if (scheme === "http")
    return `Found ${show(url)}; allowed: an https address. Code from plain http could be replaced in transit.`;
  if (scheme !== undefined && scheme !== "https" && scheme !== "file")
    return `Found ${show(url)}; allowed: an https address, a path such as "./plugin.js", or the name of a package.`;
  if (scheme !== undefined && !isUrl(url)) return `Found ${show(url)}; allowed: a valid address.`;
  const shipped = shippedName(url);
  if (shipped !== undefined && !isShipped(shipped)) return unknownShipped(url, shipped);
  if (isPath(url) && /\.[cm]?ts$/.test(url) && !strips)
    return `Found ${show(url)}; this Node runs no TypeScript (Node ${process.versions.node}; 22.18 and later do). Remedies: use a later Node, compile it to JavaScript.`;
  return undefined;
}

function unknownShipped(url: string, name: string): string {
  const near = suggest(name, SHIPPED);
  const hint = near === undefined ? "" : ` Did you mean "procman/${near}"?`;
  return `Found ${show(url)}; procman comes with ${SHIPPED.map((each) => `"procman/${each}"`).join(", ")}.${hint}`;
}

/** Problems of the options of procman's own plugins. Options with variables are checked when the plugin is started. */
function optionErrors({ url = "", options = {} }: PartialPlugin, path: JsonPath): readonly Finding[] {
  const shipped = shippedName(url);
  if (shipped === undefined || !isShipped(shipped)) return [];
  return faultsOf(options, SHIPPED_OPTIONS[shipped], "options")
    .map(({ place, message }) => ({ path: [...path, ...stepsOf(place)], message: `${place} ${message}` }))
    .filter((finding) => !hasVariable(options, finding.path.slice(path.length + 1)));
}

/** The path of a place such as `options.on[1]`. */
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

const SHIPPED_PREFIX = "procman/";

export function pluginSpecs(raw: readonly RawPlugin[] | undefined, folder: string): readonly PluginSpec[] {
  const usedIds = new Set<string>();
  return (raw ?? []).map(({ url, integrity, options }) => ({
    id: uniqueId(url, usedIds),
    url,
    source: sourceOf(url, folder),
    ...(integrity === undefined ? {} : { integrity }),
    options: options ?? {},
  }));
}

/** The name of a plugin that comes with procman; undefined: another plugin. */
function shippedName(url: string): string | undefined {
  return url.startsWith(SHIPPED_PREFIX) ? url.slice(SHIPPED_PREFIX.length) : undefined;
}

/** The scheme, such as `https` or `file`; undefined: a path, or a package. */
function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
}

function isPath(url: string): boolean {
  return /^(?:\.{1,2}(?:\/|$)|~|\/|file:)/.test(url);
}

/** Where the module is; for addresses that pass the checks. */
export function sourceOf(url: string, folder: string): PluginSpec["source"] {
  const shipped = shippedName(url);
  if (shipped !== undefined && isShipped(shipped)) return { kind: "shipped", name: shipped };
  if (schemeOf(url) === "https") return { kind: "remote", url };
  if (isPath(url)) return { kind: "file", path: url.startsWith("file:") ? fileURLToPath(url) : pathIn(folder, url) };
  return { kind: "package", name: url, folder };
}

/** `./plugins/slack.ts` is `slack`, `https://host/plugin@1.2.0.mjs` is `plugin`. */
function uniqueId(url: string, usedIds: Set<string>): string {
  const last =
    url
      .replace(/[?#].*/s, "")
      .split("/")
      .filter(Boolean)
      .at(-1) ?? "";
  const name = last
    .replace(/(?<=.)@.*/, "")
    .replace(/\.[cm]?[jt]s$/, "")
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^\.+/, "")
    .slice(0, 60);
  for (let number = 1; ; number += 1) {
    const id = `${name === "" ? "plugin" : name}${number === 1 ? "" : `-${number}`}`;
    if (usedIds.has(id)) continue;
    usedIds.add(id);
    return id;
  }
}
