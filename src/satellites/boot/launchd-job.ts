/** A job of launchd (macOS): a daemon of the machine, or an agent of a user, who must have signed in. */
import { homedir } from "node:os";
import { join } from "node:path";
import { type BootPlan, MARK } from "./boot-plan.ts";
import { type BootRecord, unitName } from "./boot-record.ts";

/** Longer than any orderly stop; then launchd kills. Seconds. */
const EXIT_TIMEOUT = 600;

export function launchdPlan(
  record: BootRecord,
  launcher: string,
  uid: number | undefined = process.getuid?.(),
): BootPlan {
  const label = unitName(record).replace("-", ".");
  const isUser = record.scope === "user";
  const domain = isUser ? `gui/${uid}` : "system";
  const file = join(isUser ? join(homedir(), "Library/LaunchAgents") : "/Library/LaunchDaemons", `${label}.plist`);
  const sudo = isUser ? "" : "sudo ";
  const load = `launchctl print ${domain}/${label} >/dev/null 2>&1 || launchctl bootstrap ${domain} "$0"`;
  return {
    unit: label,
    files: [{ path: file, text: plistText(record, label, launcher), mode: 0o644 }],
    enable: [["launchctl", "enable", `${domain}/${label}`]],
    start: [["/bin/sh", "-c", load, file]],
    disable: [["launchctl", "bootout", `${domain}/${label}`]],
    hint: `${sudo}launchctl bootout ${domain}/${label}`,
  };
}

function plistText(record: BootRecord, label: string, launcher: string): string {
  const { scope, user, home, name } = record;
  const log = scope === "user" ? join(home, `Library/Logs/procman-${name}.log`) : `/var/log/procman-${name}.log`;
  const entries: Readonly<Record<string, string>> = {
    Label: string(label),
    ProgramArguments: `<array>${["/bin/sh", launcher, "run", "--guarded"].map(string).join("")}</array>`,
    ...(scope === "system" ? { UserName: string(user) } : {}),
    RunAtLoad: "<true/>",
    // Not after `procman terminate`.
    KeepAlive: "<dict><key>SuccessfulExit</key><false/></dict>",
    ThrottleInterval: "<integer>1</integer>",
    // A killed keeper leaves its processes to the next one.
    AbandonProcessGroup: "<true/>",
    ExitTimeOut: `<integer>${EXIT_TIMEOUT}</integer>`,
    ProcessType: string("Standard"),
    StandardOutPath: string(log),
    StandardErrorPath: string(log),
  };
  const lines = Object.entries(entries).map(([key, value]) => `  <key>${key}</key>\n  ${value}\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- ${MARK}. "procman uninstall" removes it. -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
${lines.join("")}</dict>
</plist>
`;
}

function string(text: string): string {
  return `<string>${text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")}</string>`;
}
