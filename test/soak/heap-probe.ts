/** A copy of procman whose parts write down what can't be seen from outside: their live heap and their timers. */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { prepend, type Version, version } from "../support/versions.ts";

const EVERY_MS = 5_000;
const PARTS = ["keeper", "service", "logger", "balancer"] as const;

/** What a part says of itself. Bytes, after a collection of garbage. */
export type Inside = {
  readonly heap: number;
  readonly external: number;
  /** All objects of a timer, whether or not they keep the process alive. */
  readonly timers: number;
  /** Resources that libuv holds open, by type. */
  readonly resources: number;
};

/** Counting objects collects garbage first, so the heap is read when only live objects are in it. */
function probe(folder: string): string {
  return `{
  const { isMainThread } = require("node:worker_threads");
  if (isMainThread) {
    const { renameSync, writeFileSync } = require("node:fs");
    const { queryObjects } = require("node:v8");
    const file = ${JSON.stringify(folder)} + "/" + process.pid;
    const timer = setInterval(() => {
      const timers = queryObjects(timer.constructor, { format: "count" });
      const { heapUsed, external } = process.memoryUsage();
      const resources = process.getActiveResourcesInfo().length;
      try {
        writeFileSync(file + ".new", JSON.stringify({ heap: heapUsed, external, timers, resources }));
        renameSync(file + ".new", file);
      } catch (error) {
        if (error.code !== "ENOENT") throw error;
      }
    }, ${EVERY_MS}).unref();
  }
}`;
}

/** The installation, and a function that reads what the process last said. */
export function probedVersion(folder: string): {
  readonly installed: Version;
  readonly read: (pid: number) => Inside | undefined;
} {
  const probes = join(folder, "probes");
  mkdirSync(probes);
  const { version: number } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  const installed = version(folder, number, (dist) => {
    for (const part of PARTS) prepend(dist, `${part}.cjs`, probe(probes));
  });
  const read = (pid: number): Inside | undefined => {
    try {
      return JSON.parse(readFileSync(join(probes, String(pid)), "utf8")) as Inside;
    } catch (error) {
      // It has not said anything yet.
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    }
  };
  return { installed, read };
}
