/** The neutral model of an export: what every target has a word for, and the notes about what it has none for. */
import type { ProcessSpec } from "../../core/config/spec.ts";

export const TARGETS = ["systemd", "compose", "swarm", "kubernetes", "nomad", "procfile", "haproxy"] as const;

export type TargetName = (typeof TARGETS)[number];

/** A variable, by what has to be done for its value. */
export type Variable = { readonly name: string } & (
  | { readonly kind: "text"; readonly value: string }
  /** With references, as `${HOST:-localhost}`. */
  | { readonly kind: "composed"; readonly text: string }
  /** The content of a file. */
  | { readonly kind: "file"; readonly path: string }
  /** The value has to be given to the target: a variable of procman's own environment, or a value that may be secret. */
  | { readonly kind: "given"; readonly from: string }
);

/** `service`: is kept running. `task`: runs once at the start. `scheduled`: runs at times. `manual`: somebody starts it. */
export type WorkloadKind = "service" | "task" | "scheduled" | "manual";

/** A process with all its instances; or one instance, where the target can't express how the instances differ. */
export type Workload = {
  readonly id: string;
  /** Id of the process in the file: that of the cluster for an instance. */
  readonly process: string;
  readonly kind: WorkloadKind;
  readonly replicas: number;
  /** Specification of the first instance; in its commands `***` stands for what may be secret. */
  readonly spec: ProcessSpec;
  readonly hidesSecret: boolean;
  readonly variables: readonly Variable[];
  /** Ports that it is known to listen on: that of the cluster, and those of its checks. */
  readonly ports: readonly number[];
  /** An env file may set `PORT`, which the target gets as the port of the instance. */
  readonly mayHavePort: boolean;
};

/** What the target can't carry, or what is left to do. `process` is absent for a note about all of them. */
export type Note = {
  readonly process?: string;
  /** Field of the configuration file. */
  readonly field?: string;
  /** What is lost, and what to do about it. */
  readonly text: string;
  /** Without it the process does not do its work there: it can't be exported. */
  readonly blocks?: true;
};

export type ExportedFile = { readonly name: string; readonly text: string };

/** The project around the configuration, as far as an export needs to know it. */
export type Project = {
  /** Name of the configuration. */
  readonly name: string;
  /** Absolute folder of the configuration file. */
  readonly folder: string;
  /** How the configuration file is called in the first line of each file. */
  readonly source: string;
  /** Where the files will lie; absent: they are printed. */
  readonly output?: string;
  /** Name of an image that exists; absent: one is to be built. */
  readonly image?: string;
  /** The folder of the Node that runs procman, and perhaps its processes. */
  readonly nodeFolder: string;
  /** Files of npm that the folder has. */
  readonly hasPackage: boolean;
  readonly hasLock: boolean;
  /** Absolute path of a program, looked up in the given folders and the PATH of the command. */
  readonly programPath: (program: string, cwd: string, folders: readonly string[]) => string | undefined;
  /** Names of the variables of an env file; undefined: it can't be read here. */
  readonly namesIn: (envFile: string) => readonly string[] | undefined;
  /** About all processes, for each file. */
  readonly notes: readonly Note[];
};

export type Exported = { readonly files: readonly ExportedFile[]; readonly notes: readonly Note[] };

export type Exporter = (workloads: readonly Workload[], project: Project) => Exported;

/** How instances of a cluster may differ and still be replicas: not at all, or by their ports alone. */
export type Alike = "split" | "same" | "port";

/** The first line of each file; a file without it is never replaced. */
export const MARKER = "Made by procman export";

function headerOf({ source }: Project): string {
  return `${MARKER} from ${source}, which replaces this file as long as it has this line.`;
}

/** The header, and the notes about what was not carried, as lines. */
export function headLines(project: Project, notes: readonly Note[]): readonly string[] {
  const all = [...project.notes, ...notes];
  return [
    headerOf(project),
    ...(all.length === 0 ? [] : ["Not carried over, or left to do:"]),
    ...noteTexts(all).map((text) => `- ${text}`),
  ];
}

/** The same as comments that begin with `#`. */
export function comments(project: Project, notes: readonly Note[]): string {
  return headLines(project, notes)
    .map((line) => `# ${oneLine(line)}\n`)
    .join("");
}

/** Most ids that a line names. */
const NAMED = 4;

/** One line for each text, with the processes that it is about. */
export function noteTexts(notes: readonly Note[]): readonly string[] {
  const byText = new Map<string, string[]>();
  for (const { process, field, text } of notes) {
    const told = field === undefined ? text : `${field}: ${text}`;
    const ids = byText.get(told) ?? [];
    byText.set(told, process === undefined ? ids : [...ids, process]);
  }
  return [...byText].map(([told, ids]) => (ids.length === 0 ? told : `${listOf(ids)}: ${told}`));
}

function listOf(ids: readonly string[]): string {
  return ids.length > NAMED
    ? `${ids.slice(0, NAMED - 1).join(", ")} and ${ids.length - NAMED + 1} more`
    : ids.join(", ");
}

/** Text for a comment or a description, in which a line break would begin something else. */
export function oneLine(text: string): string {
  return text.replace(/[\r\n\u2028\u2029]+/g, " ");
}

export function seconds(ms: number): number {
  return ms / 1_000;
}

/** Members with a value: a target's word is left out where there is nothing to say. */
export function present<T extends object>(members: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
