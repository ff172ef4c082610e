/** Service folders of runit and s6, which both run a script `run` again whenever it ends. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { ProcmanError } from "../../core/base/errors.ts";
import { type BootFile, type BootPlan, headOf, launch } from "./boot-plan.ts";
import { type BootRecord, unitName } from "./boot-record.ts";

/** An orderly stop has this long. Seconds. */
const STOP_SECONDS = 600;

/** What runsvdir scans: Void, Debian, the original. */
const RUNIT_FOLDERS = ["/var/service", "/etc/service", "/service"];

/** What s6-svscan scans at boot: s6-linux-init copies the first one to /run/service; s6-overlay; Alpine. */
const S6_FOLDERS = ["/etc/s6-linux-init/current/run-image/service", "/etc/services.d", "/etc/s6/service", "/service"];

/** Lasts until runsv has read the order (a second at most): before that, `sv start` sees that the service is wanted, and orders nothing. */
const RUNIT_DOWN = `sv down "$PWD"
    for try in 1 2 3 4 5 6 7 8 9 10; do
      grep -q 'want down' supervise/stat && break
      sleep 0.1
    done`;

/** The service itself lies where an administrator looks for it; a link in the folder that is scanned starts it. */
export function runitPlan(record: BootRecord, launcher: string): BootPlan {
  const unit = unitName(record);
  const folder = `/etc/sv/${unit}`;
  const link = join(record.serviceDir ?? firstOf("runit", RUNIT_FOLDERS), unit);
  // With all groups of the user: chpst would take the first one alone.
  const as = record.user === "root" ? "" : `chpst -u "${record.user}:$(id -Gn ${record.user} | tr ' ' :)" `;
  return {
    unit,
    files: [
      ...scripts({ record, launcher, folder, as, ended: RUNIT_DOWN }),
      script(join(folder, "log/run"), logText(record, launcher, "svlogd -tt")),
    ],
    links: [{ path: link, target: folder }],
    folders: [folder],
    enable: [],
    start: [],
    disable: [
      ["sv", "-w", String(STOP_SECONDS), "stop", link],
      ["rm", "-f", link],
      ["sv", "-w", String(STOP_SECONDS), "shutdown", folder],
    ],
    hint: `sudo sv stop ${unit}`,
  };
}

export function s6Plan(record: BootRecord, launcher: string): BootPlan {
  const unit = unitName(record);
  const kept = record.serviceDir ?? firstOf("s6", S6_FOLDERS);
  const scanned = kept === S6_FOLDERS[0] ? "/run/service" : kept;
  const folder = `/etc/procman/s6/${unit}`;
  const links = [...new Set([kept, scanned])].map((each) => ({ path: join(each, unit), target: folder }));
  const as = record.user === "root" ? "" : `s6-setuidgid ${record.user} `;
  return {
    unit,
    files: [
      ...scripts({ record, launcher, folder, as, ended: "exit 125" }),
      script(join(folder, "log/run"), logText(record, launcher, "s6-log t s1000000 n5")),
    ],
    links,
    folders: [folder],
    enable: [],
    start: [["s6-svscanctl", "-a", scanned]],
    disable: [
      ["rm", "-f", ...links.map(({ path }) => path)],
      ...[folder, join(folder, "log")].map((each) => [
        "s6-svc",
        "-wD",
        "-T",
        String(STOP_SECONDS * 1_000),
        "-xd",
        each,
      ]),
      ["s6-svscanctl", "-an", scanned],
    ],
    hint: `sudo s6-svc -d ${folder}`,
  };
}

type Scripts = {
  readonly record: BootRecord;
  readonly launcher: string;
  readonly folder: string;
  /** Command that runs another one as the user. */
  readonly as: string;
  /** Commands after which it isn't run again. */
  readonly ended: string;
};

function scripts({ record, launcher, folder, as, ended }: Scripts): readonly BootFile[] {
  const head = `#!/bin/sh\n${headOf(record, launcher)}`;
  return [
    script(join(folder, "run"), `${head}exec 2>&1\nexec ${as}${launch(launcher, "run --guarded")}\n`),
    script(
      join(folder, "finish"),
      `${head}# Ended in order, or the configuration is invalid: it isn't run again.\ncase $1 in\n  0 | 64 | 78)\n    ${ended}\n    ;;\nesac\n`,
    ),
  ];
}

function logText(record: BootRecord, launcher: string, program: string): string {
  const folder = `/var/log/${unitName(record)}`;
  return `#!/bin/sh\n${headOf(record, launcher)}mkdir -p ${folder}\nexec ${program} ${folder}\n`;
}

function script(path: string, text: string): BootFile {
  return { path, text, mode: 0o755 };
}

function firstOf(init: string, folders: readonly string[]): string {
  const found = folders.find((folder) => existsSync(folder));
  if (found !== undefined) return found;
  throw new ProcmanError(
    "usage",
    `Cannot find the folder of ${init}'s services: none of ${folders.join(", ")} exists; name it by --service-dir`,
  );
}
