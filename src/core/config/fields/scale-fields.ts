/** Fields of `scale`. */
import { optional as kept, literal, map, number, union } from "../../base/schema.ts";
import { scale } from "../spec-parts.ts";
import {
  type Field,
  type Fields,
  listOf,
  matching,
  notEmpty,
  objectOf,
  optional,
  secondsType,
  wholeNumber,
} from "./field.ts";

const MIN = "a whole number from 0 to 1024";
const MAX = 'a whole number from 1 to 1024, or "processors" (one for each processor)';
const TARGETS = 'an object of numbers above 0 for "cpu", "connections", "waiting" and "metric:NAME"';

const min = optional(wholeNumber(0, 1024, MIN));
const max = optional(union([wholeNumber(1, 1024, MAX), literal("processors")], { allowed: MAX }));

const SIZE_SCHEDULE = {
  cron: { type: notEmpty("a cron pattern"), description: "From when on its min and max apply, written like cron." },
  min: { type: min, description: "Fewest instances from then on. Omitted: scale.min." },
  max: { type: max, description: "Most instances from then on. Omitted: scale.max." },
} as const satisfies Fields;

export const SCALE = {
  min: { type: min, description: "Fewest instances; 0, with idle: it sleeps while it has no client.", default: 1 },
  max: { type: max, description: "Most instances; processors: one for each processor.", default: "processors" },
  targets: {
    type: optional(
      map(number({ minimum: 0.001, allowed: "a number above 0" }), {
        propertyNames: matching(
          /^(?:cpu|connections|waiting|metric:.{1,100})$/,
          "cpu, connections, waiting or metric:NAME",
        ),
        allowed: TARGETS,
      }),
    ),
    description:
      "Load that one instance is meant to have: cpu (percent of one core), connections (through the load balancer), metric:NAME (a number that it reports by telemetry); waiting: clients of the cluster that may wait for an instance. The one that needs most instances decides.",
  },
  upAfter: {
    type: secondsType,
    unit: "s",
    description: "Seconds that the load must need more instances, before there are more.",
    default: 10,
  },
  downAfter: {
    type: secondsType,
    unit: "s",
    description: "Seconds that the load must need fewer instances, before there are fewer.",
    default: 300,
  },
  step: {
    type: optional(wholeNumber(1, 1024, "a whole number from 1 to 1024")),
    description: "Most instances that are added or removed at a time. Omitted: as many as the load needs.",
  },
  schedules: {
    type: optional(listOf(objectOf(SIZE_SCHEDULE, { description: "Bounds from a time on." }), "a list of schedules")),
    description:
      "Other bounds from a time on, until another of these schedules sets others. In the time zone of the process.",
  },
} as const satisfies Fields;

export const SCALE_FIELD = {
  type: optional(objectOf(SCALE)),
  description: "Changes the number of instances of a cluster by its load, and by schedules.",
  onChange: "live",
  spec: kept(scale),
} as const satisfies Field;
