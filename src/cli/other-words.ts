/** Commands of pm2, supervisorctl, systemctl and compose that procman names otherwise. */

/** What to type instead; the end of a sentence. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  ls: '"procman status" shows the processes, "procman list" all procmans of this user',
  ps: '"procman status" shows the processes, "procman list" all procmans of this user',
  top: '"procman status" shows CPU and memory; "watch -n1 procman status" goes on doing so',
  monit: '"procman status" shows CPU and memory; "watch -n1 procman status" goes on doing so',
  tail: '"procman logs -f" follows the output',
  clear: '"procman flush" empties the logs',
  describe: '"procman show ID" shows how a process is run, "procman why ID" explains its state',
  info: '"procman show ID" shows how a process is run, "procman why ID" explains its state',
  kill: '"procman stop ID" stops a process, "procman signal KILL ID" sends a signal, "procman terminate" ends procman with all processes',
  delete: '"procman remove ID --apply" takes a process out of the configuration file and stops it',
  del: '"procman remove ID --apply" takes a process out of the configuration file and stops it',
  rm: '"procman remove ID --apply" takes a process out of the configuration file and stops it',
  startup: "the init system of the host starts procman at boot: docs/reliability.md has a unit for systemd",
  save: "nothing needs saving: procman runs what the configuration file has; a change by hand ends with procman",
  resurrect: '"procman run --detach" starts what the configuration file has',
  up: '"procman run --detach" starts procman in the background; while it is running, "procman reload" applies a changed configuration file',
  update: '"procman reload" applies a changed configuration file',
  reread: '"procman plan" shows what a changed configuration file would do',
  down: '"procman terminate" stops all processes and ends procman',
  shutdown: '"procman terminate" stops all processes and ends procman',
};

/** undefined for a word that is not known from elsewhere. */
export function answerTo(word: string): string | undefined {
  return Object.hasOwn(OTHER_WORDS, word) ? OTHER_WORDS[word] : undefined;
}
