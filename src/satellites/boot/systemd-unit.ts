/** A unit of systemd; docs/guide/start-at-boot.md says what it does. */
import { execFileSync } from "node:child_process";
import { dirname, join } from "node:path";
import { type BootPlan, headOf } from "./boot-plan.ts";
import { type BootRecord, configHome, unitName } from "./boot-record.ts";

/** The first version with `DelegateSubgroup=`: procman's own processes start in a cgroup below that of the unit. */
const DELEGATE_SUBGROUP_SINCE = 254;

/** undefined: systemd isn't here. */
function systemdVersion(): number | undefined {
  try {
    const [, version] =
      /^systemd (\d+)/.exec(execFileSync("systemctl", ["--version"], { encoding: "utf8", stdio: "pipe" })) ?? [];
    return version === undefined ? undefined : Number(version);
  } catch {
    return undefined;
  }
}

/** `version`: of systemd; undefined: as if it were new. */
export function systemdPlan(
  record: BootRecord,
  launcher: string,
  version: number | undefined = systemdVersion(),
): BootPlan {
  const unit = `${unitName(record)}.service`;
  const isUser = record.scope === "user";
  const control = ["systemctl", ...(isUser ? ["--user"] : [])];
  const folder = isUser ? join(configHome(), "systemd/user") : "/etc/systemd/system";
  const sudo = isUser ? "" : "sudo ";
  return {
    unit,
    files: [{ path: join(folder, unit), text: unitText(record, launcher, version), mode: 0o644 }],
    enable: [
      [...control, "daemon-reload"],
      [...control, "enable", unit],
    ],
    start: [[...control, "start", unit]],
    disable: [[...control, "disable", "--now", unit]],
    forget: [[...control, "daemon-reload"]],
    log: ["journalctl", ...(isUser ? ["--user"] : []), `--unit=${unit}`, "--lines=10", "--output=cat", "--no-pager"],
    hint: `${sudo}${control.join(" ")} stop ${unit}`,
  };
}

function unitText(record: BootRecord, launcher: string, version = DELEGATE_SUBGROUP_SINCE): string {
  const { name, config, scope, user } = record;
  const isUser = scope === "user";
  const isRoot = user === "root";
  const online = isUser ? [] : ["Wants=network-online.target", "After=network-online.target"];
  const script = `[ "$SERVICE_RESULT" != timeout ] || exec systemctl ${isUser ? "--user " : ""}kill --signal=KILL `;
  return `${headOf(record, launcher)}# Add your changes by: systemctl ${isUser ? "--user " : ""}edit ${unitName(record)}
${[
  "[Unit]",
  `Description=procman ${name}: ${escaped(config)}`,
  "Documentation=https://www.npmjs.com/package/procman",
  `RequiresMountsFor=${quotedPath(dirname(config))}`,
  ...online,
  "StartLimitIntervalSec=60",
  "StartLimitBurst=30",
  "",
  "[Service]",
  "Type=notify",
  `NotifyAccess=${isRoot ? "main" : "all"}`,
  ...(isUser ? [] : [`User=${user}`]),
  `ExecStart=/bin/sh ${quotedWord(launcher)} run`,
  `ExecReload=/bin/sh ${quotedWord(launcher)} reload`,
  `ExecStopPost=-${isRoot || isUser ? "" : "+"}/bin/sh -c ${quotedWord(script, "%n")}`,
  `SyslogIdentifier=${unitName(record)}`,
  "Restart=on-failure",
  "RestartSec=500ms",
  "RestartPreventExitStatus=64 78",
  "KillMode=process",
  "TimeoutStopSec=90",
  "WatchdogSec=60",
  "Delegate=yes",
  ...(version >= DELEGATE_SUBGROUP_SINCE ? ["DelegateSubgroup=procman"] : []),
  "OOMPolicy=continue",
  "TasksMax=infinity",
  "",
  "[Install]",
  `WantedBy=${isUser ? "default" : "multi-user"}.target`,
].join("\n")}
`;
}

/** `%` begins a specifier: systemd.unit(5). */
function escaped(text: string): string {
  return text.replaceAll("%", "%%");
}

function quotedPath(path: string): string {
  return `"${escaped(path.replace(/[\\"]/g, "\\$&"))}"`;
}

/** In a command line, `$` begins a variable. `specifier`: appended as it is. */
function quotedWord(text: string, specifier = ""): string {
  return `"${escaped(text.replace(/[\\"]/g, "\\$&")).replaceAll("$", "$$$$")}${specifier}"`;
}
