/** `"auto"` and `{port:ID}`: what they can't mean. */
import { isLoopback } from "../../base/loopback.ts";
import { didYouMean } from "../../base/suggest.ts";
import { ownerOf, portFields, rangeOf } from "../configured-ports.ts";
import type { JsonPath } from "../document.ts";
import { CLUSTER } from "../fields/cluster-fields.ts";
import { instances } from "../instances.ts";
import type { PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";
import { filledTexts, portsNamedIn } from "./command-checks.ts";

const LAST_PORT = 65_535;

export function portErrors(
  config: PartialConfig,
  { parallelism }: { readonly parallelism: number },
): readonly Finding[] {
  const { processes = [] } = config;
  const fields = portFields(config, parallelism);
  const reference = referenceCheck(processes, new Set(fields.map(({ id }) => ownerOf(id))), parallelism);
  const ofProcesses = processes.flatMap((process = {}, index) => {
    const path = ["processes", index];
    return [...misplacedPort(process, path), ...publicPort(process, path), ...reference(process, path)];
  });
  const { env, envFile } = config;
  const wished = fields.filter(({ value }) => value === "auto").length;
  return [...rangeErrors(config, wished), ...reference({ env, envFile }, []), ...ofProcesses];
}

function rangeErrors(config: PartialConfig, wished: number): readonly Finding[] {
  const { from, to } = rangeOf(config);
  const found = `Found ${show(config.portRange)}`;
  const isRange = from >= 1 && from <= to && to <= LAST_PORT;
  const size = to - from + 1;
  if (!isRange)
    return [
      {
        path: ["portRange"],
        message: `${found}; allowed: two ports from 1 to ${LAST_PORT}, the first not above the second.`,
      },
    ];
  if (wished <= size) return [];
  return [{ path: ["portRange"], message: `${found}: the file asks for ${wished} ports by "auto"; give as many.` }];
}

function misplacedPort({ port, cluster }: PartialProcess, path: JsonPath): readonly Finding[] {
  if (port === undefined || cluster === undefined) return [];
  const message = 'Found "port" beside "cluster", whose instances get their ports by "startPort"; remove one of them.';
  return [{ path: [...path, "port"], at: "key", message }];
}

/** Who reaches it from elsewhere has to know it beforehand. */
function publicPort({ cluster }: PartialProcess, path: JsonPath): readonly Finding[] {
  const { commonPort, hostname = CLUSTER.hostname.default } = cluster ?? {};
  if (commonPort !== "auto" || isLoopback(hostname)) return [];
  const message = `Found "auto" with the "hostname" ${show(hostname)}: other machines can't know a port that is chosen here. Write a number, or remove "hostname".`;
  return [{ path: [...path, "cluster", "commonPort"], message }];
}

type ReferenceCheck = (process: PartialProcess, path: JsonPath) => readonly Finding[];

/** `{port:ID}` of unknown processes, and of those without a port. Two processes may name each other: ports are known before anything starts. */
function referenceCheck(
  processes: readonly (PartialProcess | undefined)[],
  withPort: ReadonlySet<string>,
  parallelism: number,
): ReferenceCheck {
  const clusters = new Map<string, string>();
  const ids = processes.flatMap((process = {}) => {
    const { id = "", cluster } = process;
    const members = cluster === undefined ? [] : instances(process, "", parallelism).map((instance) => instance.id);
    for (const member of [id, ...members]) if (cluster !== undefined) clusters.set(member, id);
    return [id, ...members];
  });
  const problemOf = (id: string): string | undefined => {
    if (withPort.has(id)) return undefined;
    if (!ids.includes(id)) return `; allowed: the id of a process of this file.${didYouMean(id, ids)}`;
    const cluster = clusters.get(id);
    if (cluster === undefined) return `, but ${show(id)} has no "port"; give it one.`;
    if (cluster !== id) return `, but its cluster has no "startPort"; give it one.`;
    return `, but the cluster ${show(id)} has no "commonPort"; give it one, or name an instance, as in "{port:${id}-1}".`;
  };
  return (process, path) =>
    textsOf(process, path).flatMap(([text, place]) => {
      const [id] = typeof text === "string" ? portsNamedIn(text).filter((each) => problemOf(each) !== undefined) : [];
      return id === undefined ? [] : [{ path: place, message: `Found ${show(`{port:${id}}`)}${problemOf(id)}` }];
    });
}

function textsOf(process: PartialProcess, path: JsonPath): readonly (readonly [unknown, JsonPath])[] {
  const probes = (["ready", "health"] as const).flatMap((name) =>
    (["port", "http", "exec"] as const).map((key) => [process[name]?.[key], [...path, name, key]] as const),
  );
  return [...filledTexts(process, path), ...probes];
}
