/** `idle`, and its fields. */
import { enumeration, optional as kept } from "../../base/schema.ts";
import { WAKE_ON } from "../../ipc/balancer-protocol.ts";
import { idle } from "../spec-parts.ts";
import { MAX_SECONDS } from "../units.ts";
import { portOrAuto } from "./cluster-fields.ts";
import { amount, type Field, type Fields, file, listOf, notEmpty, objectOf, optional } from "./field.ts";

const ADDRESSES = 'a list of addresses and networks, such as ["10.0.0.5", "10.1.0.0/16"]';

export const IDLE = {
  after: {
    type: amount(1, MAX_SECONDS, "seconds"),
    unit: "s",
    description: "Seconds without a connection after which it is stopped, until its next client comes.",
    onChange: "live",
  },
  port: {
    type: portOrAuto,
    description:
      'Port on which clients come, of a process without a cluster: the load balancer opens it on 127.0.0.1. "auto": a free one, for which others write {port:ID}. The program itself listens on the field port, which is auto if it is left out.',
    onChange: "live",
  },
  wakeTimeout: {
    type: optional(amount(1, MAX_SECONDS, "seconds")),
    unit: "s",
    description: "Seconds that a client waits for it to come up; then the client is turned away.",
    default: 30,
    onChange: "live",
  },
  wakeOn: {
    type: optional(enumeration(WAKE_ON)),
    description: "What wakes it: a connection, or the first byte that a client sends (not with a shared socket).",
    default: "connect",
    onChange: "live",
  },
  ignore: {
    type: optional(listOf(notEmpty("an address or a network"), ADDRESSES)),
    description:
      "Addresses and networks whose connections neither wake it nor keep it awake, such as those of a load balancer that checks it. While it sleeps they are closed at once. Not with a shared socket.",
    onChange: "live",
  },
  busyFile: {
    type: file,
    description: "While this file exists, it is not stopped for lack of clients.",
    onChange: "live",
  },
} as const satisfies Fields;

export const SLEEP = {
  type: optional(objectOf(IDLE)),
  description:
    "It sleeps while it has no client: procman stops it after some time, and its next client starts it. A process without a cluster needs port, on which clients come.",
  onChange: "live",
  spec: kept(idle),
} as const satisfies Field;
