/** Lines of a crontab. */
import { basename } from "node:path";
import { CRON_NICKNAMES } from "../../core/base/cron-nicknames.ts";
import { ownMember } from "../../core/base/interpolate.ts";
import { shellQuote } from "../../core/base/shell-quote.ts";
import { accountOf } from "../../core/config/checks/accounts.ts";
import { type ConfigurationDraft, type ProcessDraft, programName } from "./configuration-draft.ts";
import { envValue, pathFields } from "./foreign-text.ts";
import { isOnPath } from "./pm2-command.ts";
import { SourceFault } from "./source-fault.ts";
import type { ForeignFile } from "./source-file.ts";

const VARIABLE = /^\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z_]\w*))\s*=(.*)/s;
const JOB = /^\s*(@\w+|(?:[^\s=]+\s+){4}[^\s=]+)\s+(\S.*)$/s;

/** `hasUser`: the lines of /etc/crontab and /etc/cron.d name a user. @throws {SourceFault} at the first line that is none of a crontab */
export function importCrontab(
  { file, shownAs, text }: ForeignFile,
  configuration: ConfigurationDraft,
  inSystemTable?: boolean,
): void {
  const variables = new Map<string, string>();
  const lines = text.split(/\r?\n/);
  const hasUser = inSystemTable ?? isSystemTable(file, lines);
  let number = 0;
  for (const line of lines) {
    number += 1;
    if (saysNothing(line)) continue;
    const variable = variableIn(line);
    const job = variable === undefined ? jobIn(line, hasUser) : undefined;
    if (variable !== undefined) variables.set(...variable);
    else if (job !== undefined) importJob({ ...job, variables, shownAs }, configuration);
    else {
      const expected = hasUser ? "five times, a user and a command" : "NAME=value, or five times and a command";
      throw new SourceFault({ line: number, column: 1 }, `expected ${expected}`);
    }
  }
}

function variableIn(line: string): readonly [name: string, value: string] | undefined {
  const [, double, single, plain, value = ""] = VARIABLE.exec(line) ?? [];
  const name = double ?? single ?? plain;
  return name === undefined ? undefined : [name, value.trim().replace(/^(["'])(.*)\1$/s, "$2")];
}

function jobIn(line: string, hasUser: boolean): Pick<CronJob, "when" | "command" | "user"> | undefined {
  const [, when, rest] = JOB.exec(line) ?? [];
  if (when === undefined || rest === undefined) return undefined;
  if (!hasUser) return { when, command: rest, user: undefined };
  const [, user, command] = /^(\S+)\s+(\S.*)$/s.exec(rest) ?? [];
  return command === undefined ? undefined : { when, command, user };
}

/** By its place, or because each line names a user in front of a command. */
function isSystemTable(file: string, lines: readonly string[]): boolean {
  if (/\/cron\.d\/[^/]+$|^\/etc\/crontab$/.test(file)) return true;
  let hasJobs = false;
  for (const line of lines) {
    const command = saysNothing(line) ? undefined : jobIn(line, false)?.command;
    if (command !== undefined && !namesUser(command)) return false;
    hasJobs ||= command !== undefined;
  }
  return hasJobs;
}

/** Blank, or a comment. */
function saysNothing(line: string): boolean {
  return line === "" || /^\s*(#|$)/.test(line);
}

function namesUser(command: string): boolean {
  const [, user] = /^([a-z_][\w-]*)\s+[^\s-]/.exec(command) ?? [];
  return user !== undefined && !isOnPath(user) && accountOf(user) !== undefined;
}

type CronJob = {
  readonly when: string;
  readonly command: string;
  readonly user: string | undefined;
  readonly variables: ReadonlyMap<string, string>;
  readonly shownAs: string;
};

/** Starts something that outlives the job. */
const DETACHED =
  /(?<![&|>\d])&(?![&>\d])|\b(?:nohup|setsid|disown|daemonize)\b|\bscreen\s+-\S*d|\btmux\s+new|\s--(?:daemon|background|daemonize)\b/;

function importJob({ when, command, user, variables, shownAs }: CronJob, configuration: ConfigurationDraft): void {
  const draft = configuration.add(jobName(command), shownAs);
  const shell = variables.get("SHELL") ?? "/bin/sh";
  const line = withInput(command);
  if (DETACHED.test(command.replace(/'[^']*'|"[^"]*"/g, "")))
    draft.note(
      "command",
      'cron lets run what it leaves in the background; procman ends that with the job: let it run in the foreground, with "autostart"',
    );
  draft.set("cmd", /^\/(usr\/)?bin\/(sh|dash)$/.test(shell) ? line : `${shell} -c ${shellQuote(line)}`);
  draft.set("cwd", variables.get("HOME") ?? "~").set("user", user);
  if (when === "@reboot")
    draft.set("autostart", true).set("restart", "never").note("@reboot", "starts whenever procman starts");
  else draft.set("cron", ownMember(CRON_NICKNAMES, when) ?? when.trim().replace(/\s+/g, " ")).set("overrun", true);
  if (ownMember(CRON_NICKNAMES, when) === undefined && when.startsWith("@") && when !== "@reboot")
    draft.note(when, "is unknown to this import");
  environmentOf(draft, variables);
}

const CRON_PATH = "/usr/bin:/bin";

function environmentOf(draft: ProcessDraft, variables: ReadonlyMap<string, string>): void {
  const {
    SHELL: _shell,
    PATH: path,
    MAILTO: mail,
    MAILFROM: _from,
    CRON_TZ: zone,
    TZ: _,
    RANDOM_DELAY: delay,
    ...env
  } = Object.fromEntries(variables);
  if (variables.has("TZ")) env.TZ = variables.get("TZ") ?? "";
  if (Object.keys(env).length > 0)
    draft.set("env", Object.fromEntries(Object.entries(env).map(([name, value]) => [name, envValue([value])])));
  draft.setAll(pathFields(path ?? CRON_PATH));
  // cron sets these, and passes nothing on.
  if (draft.fields.user === undefined) draft.set("inheritEnv", ["HOME", "LOGNAME", "USER"]);
  draft.set("timeZone", zone);
  if (delay !== undefined) draft.set("jitter", Number(delay) * 60);
  if (mail !== undefined && mail !== "")
    draft.note(
      "MAILTO",
      `${mail}: \`procman logs ${draft.id}\` has the output; the plugin procman/notify reports failures, docs/guide/plugins.md`,
    );
}

/** Name for a job: that of `cd /srv && ./backup.sh --all > log` is backup. */
function jobName(command: string): string {
  const part = command.split(/&&|;|\|/).find((each) => !/^\s*(cd|test|\[|export|\.|source)\b/.test(each)) ?? command;
  const words = part
    .trim()
    .split(/\s+/)
    .filter((word) => !/^[A-Za-z_]\w*=/.test(word));
  const [program = "job", ...args] = words;
  const script = /^(node|python[\d.]*|perl|ruby|php|sh|bash|nice|ionice|nohup|setsid|flock|env|sudo)$/.test(
    basename(program),
  )
    ? args.find((word) => !word.startsWith("-"))
    : undefined;
  return programName(script ?? program) || "job";
}

/** A percent sign that isn't escaped ends the command: the rest is its standard input, with a line for each further one. cron adds the end of the last line. */
function withInput(command: string): string {
  const [line = "", ...input] = command.split(/(?<!\\)%/).map((part) => part.replaceAll("\\%", "%"));
  if (input.at(-1) === "") input.pop();
  if (input.length === 0) return line;
  return `printf '%s\\n' ${input.map(shellQuote).join(" ")} | { ${line.trim().replace(/;$/, "")}; }`;
}
