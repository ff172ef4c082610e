/** Commands of pm2, supervisorctl, systemctl and compose that procman names otherwise. */

/** What to type instead; the end of a sentence. */
const SHOWN = '"procman status" shows the processes, "procman list" all procmans of this user';
const REMOVED = '"procman remove ID --apply" takes a process out of the configuration file and stops it';
const IMPORTED = '"procman import FILE" converts a file of another process manager';
const NO_INPUT =
  '"procman attach ID" follows a process that has "stdin": true, and types into it; run what needs a terminal outside of procman';
const AT_HAND = "it is not needed: the programs run on this host, outside of containers";

const OTHER_WORDS: Readonly<Record<string, string>> = {
  ls: SHOWN,
  ps: SHOWN,
  avail: SHOWN,
  "list-units": SHOWN,
  jlist: '"procman status --json" prints the processes as JSON',
  prettylist: '"procman status --json" prints the processes as JSON',
  top: '"procman monitor" shows CPU and memory, live; "procman dashboard" in the browser',
  monit:
    '"procman monitor" shows processes, CPU and memory, and their output, live; "procman dashboard" in the browser',
  tail: '"procman logs -f" follows the output',
  clear: '"procman flush" empties the logs',
  maintail: '"procman logs --category lifecycle,service" shows what procman itself says',
  events: '"procman logs -f --category lifecycle" follows what happens to the processes',
  describe: '"procman show ID" shows how a process is run, "procman why ID" explains its state',
  info: '"procman show ID" shows how a process is run, "procman why ID" explains its state',
  stats: '"procman monitor" shows CPU and memory of the processes, live',
  env: '"procman show ID" shows how a process is run, and its environment',
  cat: '"procman show ID" shows how a process is run',
  pid: '"procman status ID --json" has the pid; "pidFile" in the configuration file writes it to a file',
  "is-active": '"procman status ID" ends with 0 if the process is running, else with 3',
  "is-failed": '"procman status" ends with 3 if a process has failed',
  "list-timers": '"procman next" shows the next scheduled starts and stops',
  kill: '"procman stop ID" stops a process, "procman signal KILL ID" sends a signal, "procman terminate" ends procman with all processes',
  delete: REMOVED,
  del: REMOVED,
  rm: REMOVED,
  startup: '"procman install" starts procman when the machine boots',
  unstartup: '"procman uninstall" no longer starts procman when the machine boots',
  save: "nothing needs saving: procman runs what the configuration file has; a change by hand ends with procman",
  resurrect: '"procman run --detach" starts what the configuration file has',
  update: '"procman reload" applies a changed configuration file',
  connect: NO_INPUT,
  fg: NO_INPUT,
  serve: '"procman add -- npx serve FOLDER" runs a web server for files, as any other program',
  reset: '"procman restart ID" begins its count of restarts at 0',
  reread: '"procman plan" shows what a changed configuration file would do',
  "daemon-reload": '"procman reload" applies a changed configuration file',
  config: '"procman validate" checks the configuration file, "procman show ID" shows how a process is run',
  verify: '"procman validate" checks the configuration file',
  mask: '"procman block ID" prevents a process from starting, "procman disable ID" even after a reboot',
  unmask: '"procman unblock ID" allows a process to start again, "procman enable ID" to start by itself',
  pause: '"procman signal STOP ID" halts a process, "procman signal CONT ID" continues it',
  unpause: '"procman signal CONT ID" continues a halted process',
  sendSignal: '"procman signal HUP ID" sends a signal',
  convert: IMPORTED,
  build: AT_HAND,
  pull: AT_HAND,
  down: '"procman terminate" stops all processes and ends procman',
  shutdown: '"procman terminate" stops all processes and ends procman',
};

/** Options of these commands elsewhere. */
const OTHER_OPTIONS: Readonly<Record<string, string>> = {
  "--update-env":
    'env files are read at each start, and "procman reload" applies a changed "env"; variables of this shell come to procman with "procman terminate" and "procman run"',
};

/** What to do instead of an option that a message of the parser names; undefined for one that is not known from elsewhere. */
export function optionHintIn(message: string): string | undefined {
  return OTHER_OPTIONS[/unknown option '([^']*)'/.exec(message)?.[1] ?? ""];
}

/** undefined for a word that is not known from elsewhere. */
export function hintFor(word: string): string | undefined {
  return Object.hasOwn(OTHER_WORDS, word) ? OTHER_WORDS[word] : undefined;
}
