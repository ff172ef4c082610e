/** `procman uninstall`: the machine no longer starts procman for this configuration. */
import type { Command } from "commander";
import { ProcmanError } from "../../core/base/errors.ts";
import { NAME_PATTERN } from "../../core/config/fields/field.ts";
import { nameOf } from "../../core/config/find-config.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { type BootRecord, recordsOf } from "../../satellites/boot/boot-record.ts";
import { shownRemoval, uninstall } from "../../satellites/boot/install.ts";
import { bootScope, DRY_RUN_HELP, withBootScope } from "../boot-scope.ts";
import { withConfig } from "../options.ts";
import { printDone } from "../output/done.ts";

type Options = {
  readonly config?: string;
  readonly name?: string;
  readonly user?: boolean;
  readonly system?: boolean;
  readonly dryRun?: boolean;
};

export function define(parent: Command): void {
  const command = parent
    .command("uninstall")
    .description(
      'Stops procman with all its processes gracefully, and removes what "procman install" has written. The configuration, the state folder and the logs stay.',
    );
  withBootScope(withConfig(command))
    .option("--name <name>", "name of the procman; its configuration file isn't needed")
    .option("--dry-run", DRY_RUN_HELP)
    .option("--json", "print name, init system and unit")
    .action(uninstallFor);
}

function uninstallFor({ config, name, dryRun = false, ...scopes }: Options): void {
  if (config !== undefined && name !== undefined)
    throw new ProcmanError("usage", "Cannot use --config and --name together: each names a procman; leave one out");
  const scope = bootScope(scopes, dryRun);
  const wanted = name ?? nameOf(config, startFolder(config));
  const record = installed(wanted, scope);
  if (dryRun) return void process.stdout.write(shownRemoval(record));
  const { unit, problems } = uninstall(record);
  const { name: removed, init } = record;
  printDone(`${unit}: removed; ${wanted} no longer starts at boot`, { name: removed, init, scope, unit });
  for (const problem of problems) process.stderr.write(`procman: ${problem}\n`);
}

function installed(name: string, scope: "system" | "user"): BootRecord {
  const all = NAME_PATTERN.test(name) ? recordsOf(name) : [];
  const found = all.find((each) => each.scope === scope);
  if (found !== undefined) return found;
  const [other] = all;
  const why =
    other === undefined
      ? 'nothing starts it at boot that "procman install" has written'
      : `it is installed with --${other.scope}`;
  throw new ProcmanError("boot-refused", `Cannot uninstall ${name}: ${why}`);
}
