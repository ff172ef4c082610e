/** Fields of `cluster`. */
import { enumeration, integer, optional as kept, literal, union } from "../../base/schema.ts";
import { STRATEGIES } from "../../ipc/balancer-protocol.ts";
import { type Field, type Fields, flag, hostname, matching, optional, secondsType, wholeNumber } from "./field.ts";

const INSTANCES = 'a whole number from 1 to 1024, or "max" (one for each processor)';
const PORT = 'a whole number from 1 to 65535, or "auto"';
export const portOrAuto = optional(union([wholeNumber(1, 65_535, PORT), literal("auto")], { allowed: PORT }));

/** `port` of a process without a cluster. */
export const OWN_PORT = {
  type: portOrAuto,
  description:
    'Port that it listens on; it finds it in PORT, unless env or envFile sets that, and {port} stands for it. "auto": a free port, which stays with this folder and id as long as it is free. Others write {port:ID}.',
  onChange: "restart",
  spec: kept(integer({ minimum: 0 })),
} as const satisfies Field;

export const CLUSTER = {
  instances: {
    type: union([wholeNumber(1, 1024, INSTANCES), literal("max")], { allowed: INSTANCES }),
    description: "How many instances; max: one for each processor.",
    onChange: "live",
  },
  startPort: {
    type: portOrAuto,
    description:
      'Port of the first instance; the others get the following ports. "auto": each gets a free port, as with port of a process. Each finds its port in PROCMAN_CLUSTER_PORT, and in portVariable.',
    onChange: "restart",
  },
  portVariable: {
    type: optional(
      matching(/^(?:PROCMAN_CLUSTER_PORT|(?!PROCMAN_)[A-Za-z_]\w*)$/, 'the name of a variable, such as "PORT"'),
    ),
    description:
      "Variable in which each instance finds its port. Omitted: PORT, unless env or envFile sets that; PROCMAN_CLUSTER_PORT: no additional variable.",
    onChange: "restart",
  },
  commonPort: {
    type: portOrAuto,
    description:
      'One port for all instances: of the built-in load balancer, or of the shared socket. "auto": a free one.',
    onChange: "live",
  },
  mode: {
    type: optional(enumeration(["balance", "share"])),
    description:
      "How the common port is served: by the load balancer, or by the instances themselves, which all get its listening socket as descriptor 3.",
    default: "balance",
    onChange: "restart",
  },
  strategy: {
    type: optional(enumeration(STRATEGIES)),
    description: "How the load balancer distributes connections.",
    default: "round-robin",
    onChange: "live",
  },
  hostname: {
    type: hostname,
    description: "Address that the common port is opened on; 0.0.0.0: all interfaces.",
    default: "127.0.0.1",
    onChange: "live",
  },
  proxyProtocol: {
    type: flag,
    description:
      "Each connection begins with a header of the PROXY protocol, version 2, with the client's address. A program with node doesn't need it.",
    default: false,
    onChange: "live",
  },
  idleTimeout: {
    type: secondsType,
    unit: "s",
    description: "Seconds without traffic after which the load balancer closes a connection; 0: never.",
    default: 0,
    onChange: "live",
  },
  maxConnections: {
    type: optional(wholeNumber(1, 100_000, "a whole number from 1 to 100000")),
    description:
      "Limit of connections that the load balancer gives an instance at a time; more clients wait until one ends. Omitted: no limit.",
    onChange: "live",
  },
} as const satisfies Fields;
