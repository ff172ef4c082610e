/** Limits, user, ports and instances of a service. */
import { isObject } from "../../core/base/schema-check.ts";
import type { ComposeService } from "./compose-service.ts";
import { bytesIn } from "./compose-values.ts";
import type { ProcessDraft } from "./configuration-draft.ts";
import { scalarNumber, scalarText } from "./foreign-fields.ts";

export function resources(service: ComposeService): void {
  const { draft, fields, deploy } = service;
  const given = deploy.object("resources");
  const limits = isObject(given?.limits) ? given.limits : {};
  const memory = limits.memory ?? fields.any("mem_limit");
  fields.skip("mem_limit", "cpus");
  if (memory !== undefined) draft.set("memoryMax", bytesIn(memory) ?? memory);
  const cpus = scalarNumber(limits.cpus ?? fields.any("cpus"));
  if (cpus > 0) draft.set("cpuQuota", Math.round(cpus * 100));
  if (isObject(given?.reservations)) draft.note("deploy.resources.reservations", "procman reserves nothing");
  ulimitsOf(service);
  const [, user, group] = /^([^:]+)(?::(.+))?$/.exec(fields.text("user") ?? "") ?? [];
  draft.set("user", account(user)).set("group", account(group));
  draft.set("oomScoreAdjust", fields.number("oom_score_adj"));
}

function ulimitsOf({ draft, fields }: ComposeService): void {
  for (const [name, value] of Object.entries(fields.object("ulimits") ?? {})) {
    const limit = limitOf(isObject(value) ? (value.soft ?? value.hard) : value);
    if (limit === undefined) draft.note(`ulimits.${name}`, "is not a number, so it is left out");
    else draft.merge("ulimits", { [name]: limit });
    const hard = isObject(value) && value.soft !== undefined ? limitOf(value.hard) : undefined;
    if (hard !== undefined && hard !== limit)
      draft.note(`ulimits.${name}`, `the hard limit is ${hard}: procman sets both to one value, here the soft one`);
  }
}

function limitOf(value: unknown): number | "unlimited" | undefined {
  const limit = scalarNumber(value);
  if (Number.isNaN(limit)) return undefined;
  return limit === -1 ? "unlimited" : limit;
}

function account(name: string | undefined): string | number | undefined {
  return name !== undefined && /^\d+$/.test(name) ? Number(name) : name;
}

export function rotation(draft: ProcessDraft, options: Readonly<Record<string, unknown>>): void {
  const size = bytesIn(options["max-size"]);
  if (size !== undefined)
    draft.note(
      "logging",
      `the stored log has a limit for all processes: "internalLogSize"; for a file: "logger": { "stdout": "logs/{id}.log", "rotate": { "size": ${JSON.stringify(size)} } }`,
    );
}

/** Several containers listen on the same port; processes of one host can't. */
export function serviceCluster(service: ComposeService): void {
  const { draft, fields, deploy, project, isContainer } = service;
  const count = deploy.number("replicas") ?? fields.number("scale");
  fields.skip("scale");
  const ports = [fields.any("ports") ?? []].flat().map(portOf);
  const [first] = ports;
  if (count === undefined || count < 2) {
    if (!isContainer) unmapped(service, ports);
    return;
  }
  if (first?.published === undefined) {
    draft.set("cluster", { instances: count });
    return;
  }
  const { published, last = published, hostname } = first;
  if (ports.length > 1) draft.note("ports", "instances have one port; the others are left out");
  // A range: each container has one of it.
  if (last - published >= count - 1) draft.set("cluster", { instances: count, startPort: published });
  else
    draft.set("cluster", {
      instances: count,
      startPort: project.configuration.freePorts(published, count),
      commonPort: published,
      hostname: hostname ?? "0.0.0.0",
    });
  if (!isContainer)
    draft.note(
      "ports",
      "each instance must listen on the port that it finds in PORT; the load balancer has the common port",
    );
  draft.note(
    "ports",
    'behind the load balancer all clients are 127.0.0.1 for the program: check what it allows by address; a Node program sees its clients with "node": true',
  );
}

function unmapped({ draft }: ComposeService, ports: readonly PublishedPort[]): void {
  for (const { published, target, hostname } of ports) {
    if (published !== target && target !== undefined)
      draft.note(
        "ports",
        `the program listens on ${target}, and nothing maps ${published ?? "another port"} to it: let it listen there, or change its clients`,
      );
    if (hostname !== undefined && hostname !== "0.0.0.0")
      draft.note(
        "ports",
        `only ${hostname} is open there: let the program listen on that address, or all can reach it`,
      );
  }
}

/** `last`: the end of a range. */
type PublishedPort = {
  readonly published?: number | undefined;
  readonly last?: number | undefined;
  readonly target?: number | undefined;
  readonly hostname?: string | undefined;
};

function portOf(entry: unknown): PublishedPort {
  if (isObject(entry))
    return {
      published: numberIn(entry.published),
      target: numberIn(entry.target),
      ...(typeof entry.host_ip === "string" && { hostname: entry.host_ip }),
    };
  const parts = scalarText(entry)
    .replace(/\/\w+$/, "")
    .split(":");
  const [target, published, hostname] = [parts.at(-1), parts.at(-2), parts.at(-3)].map((part) => part?.split("-")[0]);
  return {
    published: numberIn(published),
    last: numberIn(parts.at(-2)?.split("-")[1]),
    target: numberIn(target),
    ...(hostname !== undefined && /^[\d.]+$/.test(hostname) && { hostname }),
  };
}

function numberIn(value: unknown): number | undefined {
  const port = scalarNumber(value);
  return value !== undefined && Number.isInteger(port) && port > 0 && port <= 65_535 ? port : undefined;
}
