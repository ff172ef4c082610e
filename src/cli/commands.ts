/**
 * All commands, one row each: what help, completion, man pages, docs/reference/commands.md and the list of man pages in
 * package.json are made of. Modules are loaded on use.
 */
import type { Command } from "commander";
import type { Action } from "../core/contract/control.ts";
import type { HostReach } from "../satellites/hosts/on-host.ts";

export type CommandModule = { readonly define: (parent: Command) => void };

type CommandRow = {
  readonly summary: string;
  /** What follows `procman `. */
  readonly examples: readonly string[];
  /** Absent: with `--host` it runs there, by ssh. */
  readonly reach?: HostReach;
  /** With several hosts it acts on one after another. */
  readonly rolls?: true;
  readonly load: () => Promise<CommandModule>;
};

/** Answered by `cli-boot.ts`. */
type BuiltIn = { readonly summary: string };

type Group = { readonly title: string; readonly commands: Readonly<Record<string, CommandRow | BuiltIn>> };

/** In the order of `procman help`. */
export const GROUPS = [
  {
    title: "Run",
    commands: {
      run: {
        summary: "Start and supervise the processes of the configuration",
        examples: ["run", "run --detach --wait", "run web --console", "run --once test lint"],
        load: () => import("./commands/run-command.ts"),
      },
      dev: {
        summary: "Run what a project has, in the foreground, with keys: its configuration, Procfile or package.json",
        examples: ["dev", "dev web api", "dev -mail", "dev --file Procfile --exit-with web", "dev --watch"],
        load: () => import("./commands/dev-command.ts"),
      },
      up: {
        summary: "Start procman, or apply the changed file; wait until all is ready",
        examples: ["up", "up --exit-code", "up --profile production --json"],
        load: () => import("./commands/up-command.ts"),
      },
      terminate: {
        summary: "Stop all processes and end procman",
        examples: ["terminate", "terminate --name shop"],
        reach: "api",
        load: () => import("./commands/terminate-command.ts"),
      },
      upgrade: {
        summary: "Replace the running procman with this version; no process is restarted",
        examples: ["upgrade"],
        rolls: true,
        load: () => import("./commands/upgrade-command.ts"),
      },
      install: {
        summary: "Start procman with this configuration at boot",
        examples: ["install", "install --dry-run", "install --system --run-as deploy"],
        load: () => import("./commands/install-command.ts"),
      },
      uninstall: {
        summary: "Stop procman, and no longer start it at boot",
        examples: ["uninstall", "uninstall --name shop --system"],
        load: () => import("./commands/uninstall-command.ts"),
      },
    },
  },
  {
    title: "Inspect",
    commands: {
      status: {
        summary: "Show processes with their states",
        examples: [
          "status",
          "status web",
          "status --name shop",
          "status --check web",
          "status group:backend",
          "status --host web1,web2",
          "status --host @web",
          "status --all",
        ],
        reach: "several",
        load: () => import("./commands/status-command.ts"),
      },
      monitor: {
        summary: "Watch processes and their output, and control them, full screen",
        examples: ["monitor", "monitor --name shop", "monitor --host web1", "monitor | tee changes"],
        reach: "api",
        load: () => import("./commands/monitor-command.ts"),
      },
      dashboard: {
        summary: "Show processes, logs and incidents in the browser",
        examples: ["dashboard", "dashboard --scope read", "dashboard --no-open"],
        reach: "several",
        load: () => import("./commands/dashboard-command.ts"),
      },
      logs: {
        summary: "Show stored output and lifecycle messages; -f follows",
        examples: [
          "logs -f",
          "logs web -n 20",
          "logs --severity error --since 10m",
          "logs web --where 'status>=500' -f",
          "logs web --search timeout --since yesterday",
        ],
        reach: "several",
        load: () => import("./commands/logs-command.ts"),
      },
      why: {
        summary: "Explain the state of a process, and how its runs ended",
        examples: ["why web", "why web -n 3"],
        reach: "api",
        load: () => import("./commands/why-command.ts"),
      },
      list: {
        summary: "List all running procmans, wherever their files are",
        examples: ["list", "list --json", "list --host @web"],
        reach: "several",
        load: () => import("./commands/list-command.ts"),
      },
      ports: {
        summary: "List the ports of the processes of all procmans, and those that are reserved",
        examples: ["ports", "ports --json"],
        load: () => import("./commands/ports-command.ts"),
      },
      show: {
        summary: "Show how a process is run: command, folder, user, files, environment",
        examples: ["show web", "show web --json"],
        reach: "api",
        load: () => import("./commands/show-command.ts"),
      },
      next: {
        summary: "Show the next scheduled starts and stops",
        examples: ["next", "next backup"],
        reach: "api",
        load: () => import("./commands/next-command.ts"),
      },
    },
  },
  {
    title: "Control",
    commands: {
      start: {
        summary: "Start processes",
        examples: ["start web", "start web mail", "start web --with-dependencies", "start all"],
        reach: "api",
        rolls: true,
        load: () => action("start"),
      },
      stop: {
        summary: "Stop processes",
        examples: ["stop web", "stop web-2", "stop web --keep", "stop all --no-wait", "stop web --host @web"],
        reach: "api",
        rolls: true,
        load: () => action("stop"),
      },
      restart: {
        summary: "Restart processes; start those that aren't running",
        examples: ["restart web", "restart group:backend", "restart all --timeout 30", "restart web --host @web"],
        reach: "api",
        rolls: true,
        load: () => action("restart"),
      },
      block: {
        summary: "Prevent processes from starting, even by policy or schedule",
        examples: ["block backup"],
        reach: "api",
        rolls: true,
        load: () => action("block"),
      },
      unblock: {
        summary: "Allow blocked processes to start again",
        examples: ["unblock backup"],
        reach: "api",
        rolls: true,
        load: () => action("unblock"),
      },
      disable: {
        summary: "Let processes start only by hand, even after a reboot; --now stops them, too",
        examples: ["disable backup", "disable web --now"],
        reach: "api",
        rolls: true,
        load: () => action("disable"),
      },
      enable: {
        summary: "Let disabled processes start by themselves again; --now starts them, too",
        examples: ["enable backup", "enable web --now"],
        reach: "api",
        rolls: true,
        load: () => action("enable"),
      },
      scale: {
        summary: "Give a cluster more or fewer instances while it is running",
        examples: ["scale web 4", "scale web +1", "scale web max", "scale web auto"],
        reach: "api",
        rolls: true,
        load: () => import("./commands/scale-command.ts"),
      },
      signal: {
        summary: "Send a signal to processes",
        examples: ["signal HUP nginx", "signal USR2 web --to leader"],
        reach: "api",
        rolls: true,
        load: () => import("./commands/signal-command.ts"),
      },
      send: {
        summary: "Type a line into a process",
        examples: [
          "send game save-all",
          "send bot --raw y",
          "send shell -- -v",
          "send shell --key ctrl-c",
          "send db --stdin < dump.sql",
        ],
        reach: "api",
        load: () => import("./commands/send-command.ts"),
      },
      attach: {
        summary: "Follow a process, and type into it",
        examples: ["attach game", "attach game --lines 100", "attach bot --host web1", "attach bot < commands.txt"],
        reach: "api",
        load: () => import("./commands/attach-command.ts"),
      },
      exec: {
        summary: "Execute a command with user, folder, environment, secrets and limits of a process",
        examples: ["exec web -- node migrate.js", "exec db -- sh", "exec web --json -- node --version"],
        reach: "api",
        load: () => import("./commands/exec-command.ts"),
      },
      flush: {
        summary: "Empty the stored log and the log files",
        examples: ["flush", "flush web", "flush --yes"],
        reach: "api",
        load: () => import("./commands/flush-command.ts"),
      },
      plan: {
        summary: "Show what a changed configuration file would do to each process",
        examples: ["plan", "plan --exit-code"],
        reach: "api",
        load: () => import("./commands/plan-command.ts"),
      },
      reload: {
        summary: "Apply a changed configuration file; with ids: let processes reload theirs",
        examples: ["reload", "reload --profile production", "reload nginx"],
        reach: "api",
        rolls: true,
        load: () => import("./commands/reload-command.ts"),
      },
      history: {
        summary: "List the configurations that were applied, by whom, and what each changed",
        examples: ["history", "history show previous", "history --host @web"],
        reach: "several",
        load: () => import("./commands/history-command.ts"),
      },
      diff: {
        summary: "Show how the file differs from an applied configuration, or how two of them differ",
        examples: ["diff", "diff previous active", "diff 3 5 --exit-code"],
        reach: "api",
        load: () => import("./commands/diff-command.ts"),
      },
      deploy: {
        summary: "Make a release of a folder, an archive or a Git commit, and put it in use",
        examples: [
          "deploy ./build --wait",
          "deploy shop-1.4.tar.gz",
          "deploy v1.4 --dry-run",
          "deploy . --host web1",
          "deploy . --host @web --on-failure rollback",
        ],
        reach: "upload",
        rolls: true,
        load: () => import("./commands/deploy-command.ts"),
      },
      releases: {
        summary: "List the releases that are there",
        examples: ["releases", "releases --json", "releases --host @web"],
        reach: "several",
        load: () => import("./commands/releases-command.ts"),
      },
      rollback: {
        summary: "Go back to an earlier configuration or release",
        examples: ["rollback", "rollback 12", "rollback 20261127-231500", "rollback previous --force"],
        reach: "api",
        rolls: true,
        load: () => import("./commands/rollback-command.ts"),
      },
    },
  },
  {
    title: "Configure",
    commands: {
      init: {
        summary: "Create a configuration file",
        examples: [
          "init",
          'init --id web --cmd "node server.js"',
          'init --name shop --id web --cmd "node server.js" --env PORT=3000',
        ],
        load: () => import("./commands/init-command.ts"),
      },
      add: {
        summary: "Add a program to the configuration file, and start it",
        examples: [
          "add server.js",
          "add ./api",
          "add npm:dev",
          "add --id mail --restart always -- node mail.js --port 2525",
          "add './report.sh | gzip > report.gz'",
        ],
        load: () => import("./commands/add-command.ts"),
      },
      append: {
        summary: "Add a process to the configuration file",
        examples: [
          'append --id mail --cmd "node mail.js" --restart always',
          'append --id report --cmd ./report.sh --cron "0 3 * * *"',
        ],
        load: () => import("./commands/append-command.ts"),
      },
      remove: {
        summary: "Remove a process from the configuration file",
        examples: ["remove mail", "remove mail --apply"],
        load: () => import("./commands/remove-command.ts"),
      },
      import: {
        summary:
          "Make a configuration file from pm2, supervisord, systemd, compose, process-compose, a Procfile or cron",
        examples: [
          "import ecosystem.config.js",
          "import compose.yaml --check",
          "import /etc/systemd/system/web.service --stdout",
          "import --from-running pm2",
        ],
        load: () => import("./commands/import-command.ts"),
      },
      validate: {
        summary: "Check the configuration file and show all problems",
        examples: ["validate", "validate --strict --profile production"],
        load: () => import("./commands/validate-command.ts"),
      },
      export: {
        summary: "Write files for systemd, compose, Swarm, Kubernetes, Nomad, HAProxy, or a Procfile",
        examples: [
          "export --to compose --output deploy",
          "export --to kubernetes --image registry.example.com/shop:1",
          "export --to haproxy",
        ],
        load: () => import("./commands/export-command.ts"),
      },
      schema: {
        summary: "Print the JSON schema of the configuration file",
        examples: ["schema > procman.schema.json"],
        reach: "local",
        load: () => import("./commands/schema-command.ts"),
      },
    },
  },
  {
    title: "Other",
    commands: {
      host: {
        summary: "List the other machines that --host knows; add and remove them",
        examples: [
          "host add web1 ssh://deploy@web1 --group web",
          "host add web2 ssh://deploy@10.0.0.2:2222/srv/shop",
          "host add web3 https://web3.example.org --token-file web3.token",
          "host add shop unix:/srv/shop/.procman/shop@group.sock",
          "host list",
          "host remove web3",
        ],
        reach: "local",
        load: () => import("./commands/host-command.ts"),
      },
      rollout: {
        summary: "Show, continue or end what a command with several hosts has begun",
        examples: ["rollout status", "rollout continue", "rollout abort 20261128-031500-8f3a"],
        reach: "several",
        load: () => import("./commands/rollout-command.ts"),
      },
      token: {
        summary: "Create a token for the API",
        examples: [
          "token --consumer grafana --scope read",
          "token --consumer ci --scope read,control --expire-in 3600",
          "token --consumer team --group backend",
        ],
        load: () => import("./commands/token-command.ts"),
      },
      mcp: {
        summary: "Let AI agents see and control the processes (MCP)",
        examples: ["mcp", "mcp --scope read", "mcp --process web,mail", "mcp --print-skill"],
        reach: "api",
        load: () => import("./commands/mcp-command.ts"),
      },
      completion: {
        summary: "Print a script that completes commands, options and ids in bash, zsh or fish",
        examples: ["completion bash"],
        reach: "local",
        load: () => import("./commands/completion-command.ts"),
      },
      version: { summary: "Print the version" },
      help: { summary: "Show this help, or that of a command" },
    },
  },
] as const satisfies readonly Group[];

type NamesOf<G> = G extends { readonly commands: infer C } ? keyof C : never;

export type CommandName = Exclude<NamesOf<(typeof GROUPS)[number]>, "version" | "help">;

const ROWS: readonly (readonly [name: string, row: CommandRow | BuiltIn])[] = GROUPS.flatMap(({ commands }) =>
  Object.entries(commands),
);

/** Commands that have a module. */
export const COMMANDS = Object.fromEntries(ROWS.filter(([, row]) => "load" in row)) as Readonly<
  Record<CommandName, CommandRow>
>;

/** All names with their summaries. */
export const SUMMARIES: Readonly<Record<string, string>> = Object.fromEntries(
  ROWS.map(([name, { summary }]) => [name, summary]),
);

export function isCommand(name: string): name is CommandName {
  return Object.hasOwn(COMMANDS, name);
}

/** Have no result that a program would read. */
const WITHOUT_JSON: ReadonlySet<CommandName> = new Set(["dev", "monitor", "schema", "completion", "mcp"]);

/** Adds a command to the parser. Each that has no data to print takes `--json`, too, for its errors. */
export async function defineCommand(name: CommandName, parent: Command): Promise<void> {
  (await COMMANDS[name].load()).define(parent);
  if (WITHOUT_JSON.has(name)) return;
  const leaves = parent.commands.at(-1)?.commands ?? [];
  for (const command of leaves.length === 0 ? parent.commands.slice(-1) : leaves)
    if (!command.options.some(({ long }) => long === "--json")) command.option("--json", "print an error as JSON");
}

async function action(name: Action): Promise<CommandModule> {
  const { actionCommand } = await import("./commands/act-command.ts");
  return actionCommand(name);
}
