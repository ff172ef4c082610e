/** Checks of `releases`: where its folder and its link lie, and that a process uses them. */
import { isWithin } from "../../os/files.ts";
import { RELEASES } from "../fields/release-fields.ts";
import type { PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";
import { pathIn } from "./home-paths.ts";

export function releaseErrors(
  { releases }: PartialConfig,
  { folder }: { readonly folder: string },
): readonly Finding[] {
  if (releases === undefined) return [];
  const { folder: named = RELEASES.folder.default, current = RELEASES.current.default } = releases;
  const place = pathIn(folder, named);
  const link = pathIn(folder, current);
  const findings: Finding[] = [];
  if (isWithin(place, link) || isWithin(link, place))
    findings.push({
      path: ["releases", ...("current" in releases ? ["current"] : "folder" in releases ? ["folder"] : [])],
      message: `Found ${show(current)} as "current" with ${show(named)} as "folder"; allowed: a link that lies beside the folder of the releases, not in it.`,
    });
  for (const [key, path, value] of [
    ["folder", place, named],
    ["current", link, current],
  ] as const)
    if (isWithin(path, folder))
      findings.push({
        path: ["releases", ...(key in releases ? [key] : [])],
        message: `Found ${show(value)}, in which the configuration file lies; allowed: a path that leads elsewhere, as procman replaces what is there.`,
      });
  return findings;
}

export function releaseWarnings(
  { releases, processes = [] }: PartialConfig,
  { folder }: { readonly folder: string },
): readonly Finding[] {
  const current = releases?.current ?? RELEASES.current.default;
  const link = pathIn(folder, current);
  const uses = (process: PartialProcess | undefined): boolean => {
    const [script = folder] = [process?.worker ?? []].flat();
    return [process?.cwd ?? folder, script].some((path) => isWithin(link, pathIn(folder, path, process?.user)));
  };
  if (releases === undefined || processes.length === 0 || processes.some(uses)) return [];
  const message = `No process has its "cwd" or "worker" in ${show(current)}: \`procman deploy\` has nothing to restart.`;
  return [{ path: ["releases"], at: "key", message }];
}
