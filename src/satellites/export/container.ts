/** What containers have in common: paths in the image, names of hosts in place of the loopback address, and what none of them can carry. */
import { isAbsolute, join, relative } from "node:path";
import { commandOf, type ScriptSteps } from "./start-script.ts";
import type { Note, Project, Variable, Workload } from "./workload.ts";

export const APP_FOLDER = "/app";

/** The place of a path of the project in the image; a path outside of the project stays. */
export function imagePath(path: string, { folder }: Project): string {
  const inside = relative(folder, path);
  return inside === ".." || inside.startsWith("../") || isAbsolute(inside) ? path : join(APP_FOLDER, inside);
}

/** By port of this machine: the host and the port at which a container reaches it. */
export type Hosts = ReadonlyMap<number, { readonly host: string; readonly port: number }>;

/** `nameOf`: the name under which others reach a workload. */
export function hostsOf(
  workloads: readonly Workload[],
  nameOf: (workload: Workload) => string,
): Map<number, { host: string; port: number }> {
  return new Map(
    workloads.flatMap((workload) => workload.ports.map((port) => [port, { host: nameOf(workload), port }] as const)),
  );
}

const LOOPBACK = /(\$\{\w+:?-)?(127\.0\.0\.1|localhost|\[::1\])(\}?):(\d+)(?!\d)/g;

type Replaced = { readonly text: string; readonly places: readonly string[] };

/** Replaces loopback addresses of other workloads, also as the default of a reference, by their hosts. */
function withHosts(text: string, hosts: Hosts, own: readonly number[]): Replaced {
  const places = new Set<string>();
  const replaced = text.replace(LOOPBACK, (written: string, ...groups: readonly string[]) => {
    const [reference = "", , end = "", number = ""] = groups;
    const place = own.includes(Number(number)) ? undefined : hosts.get(Number(number));
    if (place === undefined || (reference === "") !== (end === "")) return written;
    places.add(`${place.host}:${place.port}`);
    return `${reference}${place.host}${end}:${place.port}`;
  });
  return { text: replaced, places: [...places] };
}

/** The workload with the addresses that it has in a network of containers, and notes about what was replaced. */
export function inNetwork(
  workload: Workload,
  hosts: Hosts,
): { readonly workload: Workload; readonly notes: readonly Note[] } {
  const notes: Note[] = [];
  const replaced = (written: string, field: string): string => {
    const { text, places } = withHosts(written, hosts, workload.ports);
    const told = `the address of this machine became ${places.join(", ")}, which must listen on all addresses of its container`;
    if (places.length > 0) notes.push({ process: workload.id, field, text: told });
    return text;
  };
  const variables = workload.variables.map((variable): Variable => {
    if (variable.kind === "text") return { ...variable, value: replaced(variable.value, `env.${variable.name}`) };
    return variable.kind === "composed"
      ? { ...variable, text: replaced(variable.text, `env.${variable.name}`) }
      : variable;
  });
  const { command } = workload.spec;
  const spec = {
    ...workload.spec,
    command:
      command.kind === "shell"
        ? { ...command, line: replaced(command.line, "cmd") }
        : { ...command, args: command.args.map((arg) => replaced(arg, "worker")) },
  };
  return { workload: { ...workload, spec, variables }, notes };
}

/** The command in the image. `steps`: what the target leaves to the shell. */
export function imageCommand(workload: Workload, project: Project, steps: ScriptSteps): readonly string[] {
  return commandOf(workload, {
    beforeStart: true,
    umask: true,
    nice: true,
    pathOf: (path) => imagePath(path, project),
    ...steps,
  });
}

/** PATH with the folders of `path` and `pathFirst`, beside that of Debian's images. */
export function imagePaths({ spec: { path, pathFirst = [] } }: Workload, project: Project): string | undefined {
  if (path.length + pathFirst.length === 0) return undefined;
  const inImage = (folders: readonly string[]): readonly string[] =>
    folders.map((folder) => imagePath(folder, project));
  return [...inImage(pathFirst), "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", ...inImage(path)].join(
    ":",
  );
}

/** User and group by number: the image may not know their names. */
export function accountOf({ spec: { user, group } }: Workload): string | undefined {
  if (user === undefined) return group === undefined ? undefined : `:${group}`;
  return `${user.uid}:${group ?? user.gid}`;
}
