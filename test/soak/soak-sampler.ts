/** What procman uses at a moment: of each part by /proc and by its probe, of the state folder by its files. Linux only. */
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import { isPart } from "../support/killable-procman.ts";
import { marked } from "../support/marked-processes.ts";
import { whileThere } from "../support/proc-files.ts";
import type { Inside } from "./heap-probe.ts";

export const PARTS = ["keeper", "service", "logger", "balancer"] as const;
export type PartName = (typeof PARTS)[number];

/** Of one part; of the balancer: of all its processes together. Memory in bytes. */
export type PartSample = {
  /** Pids: the same ones are the same life. */
  readonly life: string;
  readonly rss: number;
  readonly threads: number;
  readonly descriptors: number;
  readonly sockets: number;
  readonly pipes: number;
  readonly cpuSeconds: number;
} & Partial<Inside>;

/** `at`: seconds since the beginning. */
export type Sample = {
  readonly at: number;
  readonly parts: Readonly<Partial<Record<PartName, PartSample>>>;
  /** All processes below procman, and its own. */
  readonly processes: number;
  readonly files: number;
  readonly fifos: number;
  /** Bytes, by folder of the state folder. */
  readonly bytes: Readonly<Record<StateFolder, number>>;
};

export const STATE_FOLDERS = ["logs", "incidents", "metrics", "run", "other"] as const;
export type StateFolder = (typeof STATE_FOLDERS)[number];

type Marked = { readonly pid: number; readonly command: string };

/** The parts among the processes with the mark. */
export function partsIn(processes: readonly Marked[]): Readonly<Record<PartName, readonly number[]>> {
  const of = (name: PartName): readonly number[] =>
    processes.filter(({ command }) => isPart(name, command)).map(({ pid }) => pid);
  return { keeper: of("keeper"), service: of("service"), logger: of("logger"), balancer: of("balancer") };
}

export class SoakSampler {
  readonly #mark: string;
  readonly #stateDir: string;
  readonly #inside: (pid: number) => Inside | undefined;
  readonly #start = performance.now();

  /** `mark`: of the processes; `inside`: what a part last said of itself. */
  constructor(mark: string, stateDir: string, inside: (pid: number) => Inside | undefined) {
    this.#mark = mark;
    this.#stateDir = stateDir;
    this.#inside = inside;
  }

  sample(): Sample {
    const processes = marked(this.#mark) as readonly Marked[];
    const pids = partsIn(processes);
    const parts = Object.fromEntries(
      PARTS.flatMap((name) => {
        const part = this.#part(pids[name]);
        return part === undefined ? [] : [[name, part]];
      }),
    );
    return {
      at: Math.round((performance.now() - this.#start) / 100) / 10,
      parts,
      processes: processes.length,
      ...stateOf(this.#stateDir),
    };
  }

  #part(pids: readonly number[]): PartSample | undefined {
    const each = pids.flatMap((pid) => {
      const outside = outsideOf(pid);
      return outside === undefined ? [] : [{ ...outside, ...this.#inside(pid) }];
    });
    if (each.length === 0) return undefined;
    const sum = { ...each[0] } as Record<string, number>;
    for (const other of each.slice(1))
      for (const [name, value] of Object.entries(other)) sum[name] = (sum[name] ?? Number.NaN) + value;
    const known = Object.entries(sum).filter(
      ([name, value]) => Number.isFinite(value) && each.every((one) => name in one),
    );
    return { life: pids.join(" "), ...Object.fromEntries(known) } as PartSample;
  }
}

const CLOCK_TICKS = 100;

/** undefined: it has ended. */
function outsideOf(pid: number): Omit<PartSample, "life"> | undefined {
  const status = whileThere(() => readFileSync(`/proc/${pid}/status`, "latin1"));
  const stat = whileThere(() => readFileSync(`/proc/${pid}/stat`, "latin1"));
  const names = whileThere(() => readdirSync(`/proc/${pid}/fd`));
  const rss = Number(/^VmRSS:\s+(\d+)/m.exec(status ?? "")?.[1]) * 1_024;
  if (status === undefined || stat === undefined || names === undefined || Number.isNaN(rss)) return undefined;
  const targets = names.map((name) => whileThere(() => readlinkSync(`/proc/${pid}/fd/${name}`)) ?? "");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return {
    rss,
    threads: Number(/^Threads:\s+(\d+)/m.exec(status)?.[1]),
    descriptors: names.length,
    sockets: targets.filter((target) => target.startsWith("socket:")).length,
    pipes: targets.filter((target) => target.startsWith("pipe:") || target.includes("/fifos/")).length,
    cpuSeconds: (Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS,
  };
}

function stateOf(folder: string): Pick<Sample, "files" | "fifos" | "bytes"> {
  const bytes = Object.fromEntries(STATE_FOLDERS.map((name) => [name, 0])) as Record<StateFolder, number>;
  let [files, fifos] = [0, 0];
  for (const name of whileThere(() => readdirSync(folder, { recursive: true, encoding: "utf8" })) ?? []) {
    const stat = whileThere(() => statSync(join(folder, name)));
    if (stat === undefined || stat.isDirectory()) continue;
    files += 1;
    if (stat.isFIFO()) fifos += 1;
    const first = name.split("/")[0] ?? "";
    const place = (STATE_FOLDERS as readonly string[]).includes(first) ? (first as StateFolder) : "other";
    bytes[place] += stat.size;
  }
  return { files, fifos, bytes };
}
