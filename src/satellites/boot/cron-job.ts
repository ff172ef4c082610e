/** A line of a crontab that starts procman in the background when the machine has booted. */
import { type BootPlan, headOf, launch, shellWord } from "./boot-plan.ts";
import { type BootRecord, unitName } from "./boot-record.ts";

/** cron skips files with other names. */
const FORBIDDEN = /[^a-zA-Z0-9_-]/g;

export function cronPlan(record: BootRecord, launcher: string): BootPlan {
  const { name, user, scope } = record;
  const command = inCrontab(launch(launcher, "run --detach"));
  const asUser = (words: string): readonly string[] =>
    scope === "user" || user === "root"
      ? ["/bin/sh", launcher, ...words.split(" ")]
      : ["su", "-s", "/bin/sh", user, "-c", launch(launcher, words)];
  const common = {
    start: [asUser("run --detach")],
    disable: [asUser("terminate")],
    enable: [],
    hint: `procman terminate --name ${name}`,
  };
  if (scope === "user")
    return {
      unit: `${unitName(record)} in the crontab`,
      files: [],
      crontab: `@reboot ${command} # ${unitName(record)}`,
      ...common,
    };
  const path = `/etc/cron.d/${unitName(record).replace(FORBIDDEN, "_")}`;
  return {
    unit: path,
    files: [{ path, text: `${headOf(record, launcher)}@reboot ${shellWord(user)} ${command}\n`, mode: 0o644 }],
    ...common,
  };
}

/** `%` is a line break there: crontab(5). */
function inCrontab(command: string): string {
  return command.replaceAll("%", "\\%");
}

/** The crontab with this line, or without it: each line is known by the name at its end. */
export function withCronLine(crontab: string, line: string, isWanted: boolean): string {
  const tag = line.slice(line.lastIndexOf("#"));
  const others = crontab.split("\n").filter((each) => each !== "" && !each.endsWith(` ${tag}`));
  return [...others, ...(isWanted ? [line] : [])].map((each) => `${each}\n`).join("");
}
