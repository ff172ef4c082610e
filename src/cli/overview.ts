/** What `procman help` shows: all commands in groups, each with a word on what it does. */

type Group = { readonly title: string; readonly commands: Readonly<Record<string, string>> };

const GROUPS = [
  {
    title: "Run",
    commands: {
      run: "Start what the configuration names, and supervise it until it is told to end",
      terminate: "Stop all processes and end procman",
      upgrade: "Replace the running procman by this version; no process is restarted",
    },
  },
  {
    title: "See",
    commands: {
      status: "Show processes with their states",
      logs: "Show the stored output and what happened; -f goes on",
      why: "Tell why a process is in its state, and how its runs ended",
      next: "Show what is started and stopped when",
    },
  },
  {
    title: "Control",
    commands: {
      start: "Start processes",
      stop: "Stop processes",
      restart: "Restart processes; start those that don't run",
      block: "Keep processes from being started, by policy or schedule too",
      unblock: "Lift a block",
      scale: "Give a cluster more or fewer instances while it runs",
      plan: "Show what a changed configuration file would do to each process",
      reload: "Take up a changed configuration file; only what it concerns is restarted",
    },
  },
  {
    title: "Configure",
    commands: {
      init: "Make a configuration file",
      append: "Add a process to the configuration file",
      remove: "Remove a process from the configuration file",
      validate: "Check the configuration file and show every problem at once",
      schema: "Print the JSON schema of the configuration file",
    },
  },
  {
    title: "Other",
    commands: {
      token: "Make a token for the API",
      completion: "Print a script by which bash, zsh or fish complete commands, options and ids",
      version: "Print the version",
      help: "Print this, or the help of a command",
    },
  },
] as const satisfies readonly Group[];

type NamesOf<G> = G extends { readonly commands: infer C } ? keyof C : never;

/** Of a command that has a module of its own. */
export type CommandName = Exclude<NamesOf<(typeof GROUPS)[number]>, "version" | "help">;

type NamesIn<Title extends string> = NamesOf<Extract<(typeof GROUPS)[number], { readonly title: Title }>>;

/** Of a command that speaks with a running procman. */
export type ControlName = NamesIn<"See" | "Control">;

export function isControl(name: string | undefined): boolean {
  return GROUPS.some(({ title, commands }) => (title === "See" || title === "Control") && Object.hasOwn(commands, name ?? ""));
}

/** All names with their summaries. */
export const SUMMARIES: Readonly<Record<string, string>> = Object.assign({}, ...GROUPS.map(({ commands }) => commands));

export function overview(): string {
  const width = Math.max(...Object.keys(SUMMARIES).map((name) => name.length));
  return [
    "Usage: procman COMMAND [options]",
    "",
    "Starts, supervises, restarts, stops and logs the processes of one JSON file.",
    ...GROUPS.flatMap(({ title, commands }) => [
      "",
      `${title}:`,
      ...Object.entries(commands).map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`),
    ]),
    "",
    'See "procman help COMMAND". Start with "procman init", then "procman run".',
  ].join("\n");
}
