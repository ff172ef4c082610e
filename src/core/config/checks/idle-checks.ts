/** `idle`: where it has nothing to wake on, and what it can't be combined with. */
import { addressRange } from "../../os/address-list.ts";
import type { JsonPath } from "../document.ts";
import type { PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";

export function idleErrors({ processes = [] }: PartialConfig): readonly Finding[] {
  const sleepers = new Set(processes.flatMap((process) => (process?.idle === undefined ? [] : (process.id ?? []))));
  return processes.flatMap((process = {}, index) => {
    const path = ["processes", index];
    return [...errorsOf(process, path), ...followed(process, path, sleepers)];
  });
}

function errorsOf(process: PartialProcess, path: JsonPath): readonly Finding[] {
  const { idle } = process;
  if (idle === undefined) return [];
  const at = [...path, "idle"];
  const shared = process.cluster?.mode === "share" ? sharedErrors(process, at) : [];
  return [...portErrors(process, at), ...shared, ...opposites(process, path), ...unknownAddresses(idle.ignore, at)];
}

/** Clients need a port that stays open while it sleeps. */
function portErrors({ cluster, env, idle = {} }: PartialProcess, at: JsonPath): readonly Finding[] {
  const { port } = idle;
  if (cluster === undefined) {
    const variable = env?.PORT;
    if (!("port" in idle)) return [{ path: at, message: 'Missing key "port", on which clients come and wake it.' }];
    return port !== undefined && Number(variable) === port
      ? [
          {
            path: [...at, "port"],
            message: `Found ${port}, which "env" gives to the program as PORT, too. The load balancer opens this port; remove PORT, and the program finds its own there.`,
          },
        ]
      : [];
  }
  if ("port" in idle)
    return [
      {
        path: [...at, "port"],
        at: "key",
        message: 'Found "port" beside "cluster", whose clients come on "commonPort"; remove it.',
      },
    ];
  return "commonPort" in cluster
    ? []
    : [
        {
          path: at,
          at: "key",
          message: 'Found "idle" for a cluster without "commonPort", on which clients come and wake it; give it one.',
        },
      ];
}

/** Instances that accept clients themselves: there is no load balancer that counts clients and looks at them. */
function sharedErrors({ node, idle = {} }: PartialProcess, at: JsonPath): readonly Finding[] {
  const found = (key: string): string => `Found ${key} with "mode": "share"`;
  const remedy = 'Remove it, or use the load balancer: remove "mode", and give the instances a "startPort".';
  const uncounted = `${found('"idle"')}, but without "node": true, by which a Node program counts its clients. Add that; for another program use the load balancer: remove "mode", and give the instances a "startPort".`;
  return [
    ...(node === true ? [] : [{ path: at, at: "key" as const, message: uncounted }]),
    ...(idle.wakeOn === "data"
      ? [
          {
            path: [...at, "wakeOn"],
            message: `${found('"data"')}; allowed: "connect". Only the instance sees what a client sends. ${remedy}`,
          },
        ]
      : []),
    ...("ignore" in idle
      ? [
          {
            path: [...at, "ignore"],
            at: "key" as const,
            message: `${found('"ignore"')}; only the instance sees who its clients are. ${remedy}`,
          },
        ]
      : []),
  ];
}

function opposites(process: PartialProcess, path: JsonPath): readonly Finding[] {
  const why = {
    task: "which runs to its end and has no clients",
    overrun: "whose overlapping runs can't have one port",
  } as const;
  return (["task", "overrun"] as const).flatMap((key) =>
    process[key] === true
      ? [
          {
            path: [...path, key],
            at: "key" as const,
            message: `Found ${show(key)} with "idle", ${why[key]}; remove one of them.`,
          },
        ]
      : [],
  );
}

function unknownAddresses(ignore: readonly (string | undefined)[] | undefined, at: JsonPath): readonly Finding[] {
  return (ignore ?? []).flatMap((text, index) =>
    text === undefined || addressRange(text) !== undefined
      ? []
      : [
          {
            path: [...at, "ignore", index],
            message: `Found ${show(text)}; allowed: an address such as "10.0.0.5", or a network such as "10.1.0.0/16".`,
          },
        ],
  );
}

/** Each wake would restart the dependent whose connection it was. */
function followed(
  { dependsOn = [] }: PartialProcess,
  path: JsonPath,
  sleepers: ReadonlySet<string>,
): readonly Finding[] {
  return dependsOn.flatMap((entry, index) =>
    typeof entry === "object" && entry.restart === true && entry.id !== undefined && sleepers.has(entry.id)
      ? [
          {
            path: [...path, "dependsOn", index, "restart"],
            message: `Found true for ${show(entry.id)}, which has "idle": each time it wakes, this process would be restarted; remove "restart".`,
          },
        ]
      : [],
  );
}
