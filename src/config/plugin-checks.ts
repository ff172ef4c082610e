/** What can be said of plugins without loading them. */
import { fileURLToPath } from "node:url";
import { suggest } from "../base/suggest.ts";
import { faultsOf } from "../contract/json-schema.ts";
import { SHIPPED_OPTIONS } from "../contract/plugin-options.ts";
import { SHIPPED } from "../contract/plugin-protocol.ts";
import type { Path } from "./document.ts";
import { type Finding, show } from "./finding.ts";
import type { LooseConfig } from "./loose.ts";
import { isPath, isShipped, ownName, schemeOf } from "./plugin-spec.ts";

type LoosePlugin = NonNullable<NonNullable<LooseConfig["plugins"]>[number]>;

export function pluginErrors(plugin: LoosePlugin, path: Path, strips: boolean): readonly Finding[] {
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

export function pluginWarnings({ url, integrity }: LoosePlugin, path: Path): readonly Finding[] {
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
function optionErrors({ url = "", options = {} }: LoosePlugin, path: Path): readonly Finding[] {
  const own = ownName(url);
  if (own === undefined || !isShipped(own)) return [];
  return faultsOf(options, SHIPPED_OPTIONS[own], "options")
    .map(({ place, message }) => ({ path: [...path, ...stepsOf(place)], message: `${place} ${message}` }))
    .filter((finding) => !hasVariable(options, finding.path.slice(path.length + 1)));
}

/** `options.on[1]` */
export function stepsOf(place: string): Path {
  return [...place.matchAll(/[^.[\]]+/g)].map(([step]) => (/^\d+$/.test(step) ? Number(step) : step));
}

function hasVariable(options: unknown, path: Path): boolean {
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
