/** The output of `procman help`: all commands in groups, with summaries. */

type Group = { readonly title: string; readonly commands: Readonly<Record<string, string>> };

export const GROUPS = [
  {
    title: "Run",
    commands: {
      run: "Start and supervise the processes of the configuration",
      terminate: "Stop all processes and end procman",
      upgrade: "Replace the running procman with this version; no process is restarted",
      install: "Start procman for this configuration when the machine boots",
      uninstall: "No longer start it when the machine boots",
    },
  },
  {
    title: "See",
    commands: {
      status: "Show processes with their states",
      monitor: "Watch processes and their output, and control them, full screen",
      dashboard: "Show processes, logs and incidents in the browser",
      logs: "Show stored output and lifecycle messages; -f follows",
      why: "Explain the state of a process, and how its runs ended",
      list: "Show the procmans that are running, wherever their files are",
      show: "Show how a process is run: command, folder, user, files, environment",
      next: "Show the next scheduled starts and stops",
    },
  },
  {
    title: "Control",
    commands: {
      start: "Start processes",
      stop: "Stop processes",
      restart: "Restart processes; start those that aren't running",
      block: "Prevent processes from starting, also by policy or schedule",
      unblock: "Allow blocked processes to start again",
      disable: "Let processes start only by hand, also after a reboot; --now stops them, too",
      enable: "Let disabled processes start by themselves again; --now starts them, too",
      scale: "Give a cluster more or fewer instances while it is running",
      signal: "Send a signal to processes",
      flush: "Empty the stored log and the log files",
      plan: "Show what a changed configuration file would do to each process",
      reload: "Apply a changed configuration file; with ids: let processes reload theirs",
    },
  },
  {
    title: "Configure",
    commands: {
      init: "Create a configuration file",
      add: "Add a program to the configuration file, and start it",
      append: "Add a process to the configuration file",
      remove: "Remove a process from the configuration file",
      import: "Make a configuration file of one of pm2, supervisord, systemd, compose or cron",
      validate: "Check the configuration file and show all problems",
      export: "Write files for systemd, compose, Swarm, Kubernetes, Nomad, HAProxy, or a Procfile",
      schema: "Print the JSON schema of the configuration file",
    },
  },
  {
    title: "Other",
    commands: {
      host: "List the other machines that --host knows; add and remove them",
      token: "Create a token for the API",
      completion: "Print a script that completes commands, options and ids in bash, zsh or fish",
      version: "Print the version",
      help: "Print this, or the help of a command",
    },
  },
] as const satisfies readonly Group[];

type NamesOf<G> = G extends { readonly commands: infer C } ? keyof C : never;

/** Commands that have a module. */
export type CommandName = Exclude<NamesOf<(typeof GROUPS)[number]>, "version" | "help">;

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
