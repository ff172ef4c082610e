/**
 * What each field means, for `schema.json` and the documentation. Keyed by path, `[]` for the entries of a list.
 * Only `scripts/schema.ts` and tests load it: the service needs no descriptions.
 */

export type Field = {
  readonly description: string;
  readonly default?: unknown;
};

const processLogger = {
  "": { description: "Where the output goes." },
  ".console": { description: "Print the output on procman's own output.", default: false },
  ".stdout": {
    description:
      "File for standard output; a relative path resolves from the folder of the configuration file. {name}, {id}, {process} and {instance} stand for the name of the configuration, the id of the process or instance, the id of the process alone, and the number of the instance from 1.",
  },
  ".stderr": { description: "File for standard error, as for stdout. When omitted, standard error goes to the stdout file." },
  ".decorateFiles": { description: "Write time and id in front of each line in files.", default: false },
  ".rotate": { description: "When a log file is closed, renamed and compressed; false: never." },
  ".rotate.size": {
    description:
      "A file that would grow beyond this is rotated first: bytes, or a text such as 500MB (powers of 1000) or 500MiB (powers of 1024).",
    default: "500MB",
  },
  ".rotate.hours": { description: "A file that has been written to for this many hours is rotated; 0: never by age.", default: 0 },
  ".rotate.total": {
    description: "Rotated files together may take this much; the oldest are removed first. Written as size.",
    default: "2GB",
  },
  ".rotate.gzip": { description: "Compress rotated files.", default: true },
} as const satisfies Record<string, Field>;

const globalLogger = {
  ...processLogger,
  "": { description: "Global logger settings, and the defaults for each process." },
  ".decorate": { description: "Write time and id in front of each line on the console.", default: false },
  ".colors": { description: "Colours on the console.", default: false },
  ".internalLogHours": {
    description: "Hours for which procman keeps its own logs and metrics, for `procman logs`; 0 keeps none.",
    default: 24,
  },
  ".internalLogSize": {
    description: "These logs may take this much; the oldest are removed first. Written as rotate.size.",
    default: "1GB",
  },
} as const satisfies Record<string, Field>;

const grace = "Seconds to wait for a process to finish by itself, before it is asked to terminate.";
const terminate = "Seconds to wait after SIGTERM, before a process is killed.";

const process = {
  "": { description: "A process: what to run, when it starts, and what happens when it ends." },
  ".id": { description: "Unique name of the process: 1 to 64 characters from a-z, 0-9, dot, underscore and hyphen." },
  ".cmd": { description: "Full command line, run by /bin/sh. Exactly one of cmd and worker must be given." },
  ".worker": {
    description: "JavaScript or TypeScript module that runs in a Node process of its own, or a list of the module and its arguments.",
  },
  ".cwd": { description: "Working directory; the folder of the configuration file when omitted." },
  ".env": {
    description:
      'Extra environment variables. They override those of procman, except PATH, which is appended. In a value ${NAME} and ${NAME:-default} stand for variables of procman\'s own and of envFile. A secret is read when a run starts: { "file": path } from a file, { "env": name } from such a variable.',
  },
  ".envFile": { description: "File or files with further variables, as NAME=value lines; read whenever a run starts." },
  ".path": { description: "Folder or folders to append to PATH." },
  ".pidFile": {
    description:
      "File that holds the process id while the process runs. Placeholders as in logger.stdout; a cluster needs {id} or {instance}.",
  },
  ".timeout": { description: "Seconds that a run may last before it is terminated; 0: no limit.", default: 0 },
  ".overrun": { description: "A start by schedule may begin another run while one is going on.", default: false },
  ".autostart": { description: "Start when procman starts.", default: false },
  ".cron": {
    description:
      "Schedule of starts: minute, hour, day of the month, month, day of the week; with seconds in front if there are six fields.",
  },
  ".watch": {
    description:
      "Files and folders that are watched, or patterns of them, as src/**/*.html: the process starts with procman, and again when one of them changes.",
  },
  ".restart": {
    description:
      "When an ended process starts again: after every end, or after an error. Omitted: error with autostart or watch, else never.",
  },
  ".restartDelayMs": { description: "Milliseconds before each restart. Omitted: the first at once, then 100 doubling to 30000." },
  ".restartLimit": { description: "How many restarts are allowed in a row; no limit when omitted." },
  ".restartResetMs": {
    description: "A run that lasted this many milliseconds clears the count of restarts and the delay.",
    default: 60_000,
  },
  ".terminate": { description: "Schedule of stops, as cron. With restart set to always, the process restarts at these times." },
  ".terminateGracePeriod": { description: `${grace} Default: the top level's.` },
  ".terminateTimeout": { description: `${terminate} Default: the top level's.` },
  ".stopSignal": { description: "The signal that asks it to end, to its whole process group.", default: "SIGTERM" },
  ".dependsOn": {
    description:
      "Processes that must be there before it starts, and are stopped after it: ids, or objects with id, condition (ready, the default; started; finished) and restart (true: restart it when that one was started anew).",
  },
  ".ready": { description: "How a run becomes ready: exactly one of port, http, log, exec and fd. Omitted: it is ready at once." },
  ".ready.port": { description: "It accepts connections on this port of the loopback address; {port}: on that of the instance." },
  ".ready.http": { description: "It answers at this address with a status from 200 to 399; {port} stands for the port of the instance." },
  ".ready.log": { description: "A line of its output matches this regular expression." },
  ".ready.exec": { description: "This command line ends with code 0, run as the process's own cmd is." },
  ".ready.fd": { description: "It writes to this file descriptor, which it gets open at its start." },
  ".ready.timeout": { description: "A run that is not ready within so many seconds is stopped, which counts as an error.", default: 30 },
  ".health": { description: "Whether a run that is ready stays well: asked at intervals by exactly one of port, http and exec." },
  ".health.port": { description: "As ready.port." },
  ".health.http": { description: "As ready.http." },
  ".health.exec": { description: "As ready.exec." },
  ".health.interval": { description: "Seconds from one question to the next.", default: 10 },
  ".health.timeout": { description: "Seconds to wait for an answer.", default: 5 },
  ".health.failures": { description: "After so many failures in a row it is not well, and is restarted by its policy.", default: 3 },
  ".health.startPeriod": {
    description: "Seconds from the start of a run in which failures don't count, until it was well once.",
    default: 0,
  },
  ".memoryLimit": {
    description:
      "A run that has more memory than this, with all its descendants, for three looks in a row is restarted by its policy. Written as rotate.size.",
  },
  ".memoryMax": {
    description:
      "The kernel kills a run that wants more memory than this, with all its descendants. It takes a cgroup v2 that procman may divide; elsewhere it counts as memoryLimit.",
  },
  ".ulimits": { description: "Limits of the process, soft and hard, as of the shell's ulimit; unlimited: none." },
  ".ulimits.as": { description: "Address space. Bytes, or a text such as 2GB." },
  ".ulimits.core": { description: "Size of a core file. Bytes, or a text." },
  ".ulimits.cpu": { description: "Seconds of CPU time." },
  ".ulimits.data": { description: "Data segment. Bytes, or a text." },
  ".ulimits.fsize": { description: "Size of a file that it writes. Bytes, or a text." },
  ".ulimits.memlock": { description: "Memory locked in RAM. Bytes, or a text." },
  ".ulimits.nofile": { description: "Open files." },
  ".ulimits.nproc": { description: "Processes of its user." },
  ".ulimits.stack": { description: "Stack. Bytes, or a text." },
  ".user": { description: "User that it runs as, by name or number; only root may." },
  ".group": { description: "Group that it runs as instead of the user's own; only root may." },
  ".nice": { description: "Niceness: -20 is served first, 19 last; below 0 only root may." },
  ".umask": { description: "Rights that files it makes don't get: three octal digits." },
  ".cluster": { description: "Several instances of the process, with the ids ID-1, ID-2 and so on." },
  ".cluster.instances": { description: "How many instances; max: one for each processor." },
  ".cluster.startPort": {
    description: "Port of the first instance, one more for each further one; each gets its own in PROCMAN_CLUSTER_PORT.",
  },
  ".cluster.commonPort": { description: "One port for all instances: of the built-in load balancer, or of the socket that they share." },
  ".cluster.mode": {
    description:
      "How the common port is served: by the load balancer, or by the instances themselves, which all get its listening socket as descriptor 3.",
    default: "balance",
  },
  ".cluster.strategy": { description: "How the load balancer distributes connections.", default: "round-robin" },
  ".cluster.hostname": { description: "Address that the common port is opened on; 0.0.0.0: all interfaces.", default: "127.0.0.1" },
  ".cluster.proxyProtocol": {
    description: "Each connection begins with a header of the PROXY protocol, version 2, that tells the client's address.",
    default: false,
  },
  ".cluster.idleTimeout": {
    description: "Seconds without traffic after which the load balancer closes a connection; 0: never.",
    default: 0,
  },
  ".cluster.maxConnections": {
    description:
      "Most connections that the load balancer gives an instance at a time; further clients wait for one to end. Omitted: no limit.",
  },
} as const satisfies Record<string, Field>;

function below(path: string, fields: Readonly<Record<string, Field>>): Readonly<Record<string, Field>> {
  return Object.fromEntries(Object.entries(fields).map(([key, field]) => [path + key, field]));
}

export const fields: Readonly<Record<string, Field>> = {
  "": { description: "Configuration of procman." },
  $schema: { description: "Address of this schema, for editors." },
  name: {
    description: "Name of the whole: 1 to 64 characters from a-z, 0-9, dot, underscore and hyphen. Names the folder .procman/NAME.",
    default: "procman",
  },
  processes: { description: "The processes." },
  ...below("processes[]", process),
  ...below("processes[].logger", processLogger),
  ...below("logger", globalLogger),
  watcher: { description: "Settings of the file watcher, for all processes." },
  "watcher.interval": { description: "Milliseconds from a change to the restart; what changes meanwhile is one change.", default: 1000 },
  "watcher.exts": { description: "File extensions that count; none: all.", default: ["ts", "tsx", "js", "jsx", "json"] },
  "watcher.match": { description: "Patterns that a file in a watched folder must match; one of them.", default: ["**/*.*"] },
  "watcher.skip": { description: "Patterns of files that don't count, and of folders that are not looked into.", default: ["**/.git/**"] },
  profiles: {
    description:
      "Parts of a configuration by name; `--profile NAME` merges one over the rest: objects key by key, processes by their id, all else is replaced.",
  },
  plugins: { description: "Plugins to load, each in a thread of its own." },
  "plugins[]": { description: "A plugin." },
  "plugins[].url": {
    description:
      "Path of a module (./slack.js), name of a package, https address of a module with its version, or one that comes with procman: procman/notify, procman/otlp, procman/logship.",
  },
  "plugins[].integrity": { description: "Digest that the module of a path or an https address must have: sha256- and base64." },
  "plugins[].options": {
    description: "Settings of the plugin itself. ${NAME} and ${NAME:-default} in texts are filled in when it is started.",
  },
  api: { description: "The REST API." },
  "api.hostname": { description: "Address that the API listens on; 0.0.0.0: all interfaces.", default: "127.0.0.1" },
  "api.port": { description: "Port of the API; any free one when omitted." },
  "api.cors": { description: "Origins whose pages may ask, as https://app.example.org.", default: [] },
  "api.revoked": { description: "Consumers whose tokens are refused.", default: [] },
  terminateGracePeriod: { description: `${grace} For all processes that don't say otherwise.`, default: 0 },
  terminateTimeout: { description: `${terminate} For all processes that don't say otherwise.`, default: 30 },
};
