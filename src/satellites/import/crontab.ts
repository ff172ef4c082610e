/** Lines of a crontab. */
import { basename } from "node:path";
import { CRON_NICKNAMES } from "../../core/base/cron-nicknames.ts";
import { ownMember } from "../../core/base/interpolate.ts";
import { shellQuote } from "../../core/base/shell-quote.ts";
import { type ConfigurationDraft, type ProcessDraft, programName } from "./configuration-draft.ts";
import { envValue } from "./foreign-text.ts";
import { SourceFault } from "./source-fault.ts";
import type { ForeignFile } from "./source-file.ts";

const VARIABLE = /^\s*(?:"([^"]*)"|'([^']*)'|([A-Za-z_]\w*))\s*=(.*)/s;
const JOB = /^\s*(@\w+|(?:[^\s=]+\s+){4}[^\s=]+)\s+(\S.*)$/;

/** `hasUser`: the lines of /etc/crontab and /etc/cron.d name a user. @throws {SourceFault} at the first line that is none of a crontab */
export function importCrontab(
  { file, shownAs, text }: ForeignFile,
  configuration: ConfigurationDraft,
  hasUser: boolean = isSystemTable(file),
): void {
  const variables = new Map<string, string>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const [, double, single, plain, value = ""] = VARIABLE.exec(line) ?? [];
    const name = double ?? single ?? plain;
    const job = name === undefined ? jobIn(line, hasUser) : undefined;
    if (name !== undefined) variables.set(name, value.trim().replace(/^(["'])(.*)\1$/s, "$2"));
    else if (job !== undefined) importJob({ ...job, variables, shownAs }, configuration);
    else {
      const expected = hasUser ? "five times, a user and a command" : "NAME=value, or five times and a command";
      throw new SourceFault({ line: index + 1, column: 1 }, `expected ${expected}`);
    }
  }
}

function jobIn(line: string, hasUser: boolean): Pick<CronJob, "when" | "command" | "user"> | undefined {
  const [, when, rest] = JOB.exec(line) ?? [];
  if (when === undefined || rest === undefined) return undefined;
  if (!hasUser) return { when, command: rest, user: undefined };
  const [, user, command] = /^(\S+)\s+(\S.*)$/.exec(rest) ?? [];
  return command === undefined ? undefined : { when, command, user };
}

function isSystemTable(file: string): boolean {
  return /\/cron\.d\/[^/]+$|^\/etc\/crontab$/.test(file);
}

type CronJob = {
  readonly when: string;
  readonly command: string;
  readonly user: string | undefined;
  readonly variables: ReadonlyMap<string, string>;
  readonly shownAs: string;
};

function importJob({ when, command, user, variables, shownAs }: CronJob, configuration: ConfigurationDraft): void {
  const draft = configuration.add(jobName(command), shownAs);
  const shell = variables.get("SHELL") ?? "/bin/sh";
  const line = withInput(command);
  draft.set("cmd", /^\/(usr\/)?bin\/(sh|dash)$/.test(shell) ? line : `${shell} -c ${shellQuote(line)}`);
  draft.set("cwd", variables.get("HOME") ?? "~").set("user", user);
  if (when === "@reboot")
    draft.set("autostart", true).set("restart", "never").note("@reboot", "starts whenever procman starts");
  else draft.set("cron", ownMember(CRON_NICKNAMES, when) ?? when.trim().replace(/\s+/g, " ")).set("overrun", true);
  if (ownMember(CRON_NICKNAMES, when) === undefined && when.startsWith("@") && when !== "@reboot")
    draft.note(when, "is unknown to this import");
  environmentOf(draft, variables);
}

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
  if (path !== undefined) draft.set("pathFirst", path.split(":").filter(Boolean));
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
  const script = /^(node|python[\d.]*|perl|ruby|php|sh|bash|nice|ionice|flock|env|sudo)$/.test(basename(program))
    ? args.find((word) => !word.startsWith("-"))
    : undefined;
  return programName(script ?? program) || "job";
}

/** A percent sign that isn't escaped ends the command: the rest is its standard input, with a line for each further one. */
function withInput(command: string): string {
  const [line = "", ...input] = command.split(/(?<!\\)%/).map((part) => part.replaceAll("\\%", "%"));
  if (input.length === 0) return line;
  return `printf '%s\\n' ${input.map(shellQuote).join(" ")} | { ${line.trim().replace(/;$/, "")}; }`;
}
