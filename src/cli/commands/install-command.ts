/** `procman install`: lets the init system start procman for this configuration when the machine boots. */

import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { livingHolder } from "../../client/connection/endpoint-file.ts";
import { packageRoot } from "../../client/connection/package-root.ts";
import { compact } from "../../core/base/compact.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { read } from "../../core/config/config-file.ts";
import { parseDocument, withoutBom } from "../../core/config/document.ts";
import { includesOf } from "../../core/config/include.ts";
import { searchedFolders } from "../../core/config/include-patterns.ts";
import { check } from "../../core/config/load.ts";
import type { Config } from "../../core/config/spec.ts";
import { lastingPath } from "../../core/os/package-place.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import type { BootPlan } from "../../satellites/boot/boot-plan.ts";
import { type BootRecord, type BootScope, recordsOf } from "../../satellites/boot/boot-record.ts";
import { planOf } from "../../satellites/boot/init-systems.ts";
import { install, shownPlan } from "../../satellites/boot/install.ts";
import { newRecord } from "../../satellites/boot/new-record.ts";
import { bootScope, DRY_RUN_HELP, withBootScope } from "../boot-scope.ts";
import { withConfig } from "../options.ts";
import { printDone } from "../output/done.ts";

type Options = {
  readonly config?: string;
  readonly user?: boolean;
  readonly system?: boolean;
  readonly init?: string;
  readonly runAs?: string;
  readonly profile?: string;
  readonly serviceDir?: string;
  readonly start: boolean;
  readonly dryRun?: boolean;
};

export function define(parent: Command): void {
  const command = parent
    .command("install")
    .description(
      "Writes, enables and starts a unit for this configuration: of systemd, launchd, OpenRC, runit or s6, or a line for cron where there is nothing else. Run it again to update that. Nothing else needs to be saved: at boot procman starts what the configuration file has then.",
    );
  withBootScope(withConfig(command))
    .option("--run-as <user>", "with --system: the user who runs it (default: root)")
    .option("--profile <name>", "merge this part of `profiles` over the rest of the configuration")
    .option("--init <name>", "systemd, launchd, openrc, runit, s6 or cron (default: what this machine runs)")
    .option("--service-dir <dir>", "the folder in which runit or s6 looks for services (default: the usual ones)")
    .option("--no-start", "write and enable it, but don't start it now")
    .option("--dry-run", DRY_RUN_HELP)
    .option("--json", "print name, init system and unit")
    .action(installFor);
}

function installFor(options: Options): void {
  const { dryRun = false, start, profile } = options;
  const scope = bootScope(options, dryRun);
  const source = read(options.config, startFolder(options.config));
  const config = check(source, profile === undefined ? {} : { profile });
  const searched = searchedFolders(includesOf(parseDocument(withoutBom(source.text)).data), dirname(source.file));
  const record = withUnitFile(recordFor(options, scope, { config, file: source.file, searched }));
  if (dryRun) return void process.stdout.write(shownPlan(record, start));
  const earlier = recordsOf(config.name);
  refuseOther(record, earlier);
  const isUpdate = earlier.length > 0;
  const runs = livingHolder(config.stateDir);
  if (runs !== undefined && start && !isUpdate)
    throw new ProcmanError(
      "already-running",
      `Cannot install: ${config.name} is already running (pid ${runs.pid}) and was not started by what "procman install" wrote; stop it with "procman terminate" first, or use --no-start`,
    );
  report(record, install(record, start && runs === undefined), {
    isUpdate,
    starts: start && runs === undefined,
    runs: runs !== undefined,
  });
}

type CheckedFile = { readonly config: Config; readonly file: string; readonly searched: readonly string[] };

function recordFor(
  options: Options,
  scope: BootScope,
  { config: { name, included = [] }, file, searched }: CheckedFile,
): BootRecord {
  const { init, runAs, profile, serviceDir } = options;
  return newRecord(
    compact({
      scope,
      name,
      config: file,
      included: [...included, ...searched],
      script: lastingPath(join(packageRoot(), "dist/procman.cjs")),
      init,
      runAs,
      profile,
      serviceDir,
    }),
  );
}

/** `status` looks whether it is still there. */
function withUnitFile(record: BootRecord): BootRecord {
  const [unitFile] = planOf(record).files;
  return unitFile === undefined ? record : { ...record, unitFile: unitFile.path };
}

function refuseOther({ name, config, scope, init }: BootRecord, earlier: readonly BootRecord[]): void {
  for (const each of earlier) {
    const { config: other, scope: otherScope, init: otherInit } = each;
    const remedy = `"procman uninstall --name ${name} --${otherScope}" removes that`;
    if (other !== config && existsSync(other))
      throw new ProcmanError(
        "boot-refused",
        `Cannot install: ${name} starts at boot with ${other}; ${remedy}, or give this configuration another "name"`,
      );
    if (otherScope !== scope || otherInit !== init)
      throw new ProcmanError(
        "boot-refused",
        `Cannot install: ${name} already starts at boot by ${otherInit} (--${otherScope}); ${remedy}`,
      );
  }
}

type Outcome = { readonly isUpdate: boolean; readonly starts: boolean; readonly runs: boolean };

function report(record: BootRecord, { unit, hint }: BootPlan, { isUpdate, starts, runs }: Outcome): void {
  const { name, scope, init, user } = record;
  const next = runs
    ? "is running; what has changed applies from its next start"
    : starts
      ? "is running"
      : 'starts with the machine, or now by "procman install"';
  const done = `${unit}: ${isUpdate ? "updated" : "installed"} for ${init}; ${name} ${next}`;
  const remark = starts || runs ? `\n"${hint}" stops it, "procman uninstall" removes it` : "";
  printDone(`${done}${remark}`, { name, init, scope, unit, updated: isUpdate, running: starts || runs });
  if (scope === "user" && init === "systemd" && !existsSync(`/var/lib/systemd/linger/${user}`))
    process.stderr.write(
      `procman: it starts when ${user} signs in and ends when ${user} signs out, because systemd ends the processes of users then; "sudo loginctl enable-linger ${user}" lets it start at boot\n`,
    );
  if (scope === "user" && init === "launchd")
    process.stderr.write(`procman: launchd starts it when ${user} signs in; at boot with --system --run-as ${user}\n`);
  if (process.versions.pnp !== undefined)
    process.stderr.write(
      'procman: at boot its processes have no Plug\'n\'Play of Yarn, which "yarn procman" gives them now; "cmd": "yarn node server.js" works in both\n',
    );
  if (/[/\\]_npx[/\\]/.test(record.script))
    process.stderr.write(
      'procman: it points to npx\'s cache, which npm empties; better: "npm install -g procman", then "procman install"\n',
    );
}
