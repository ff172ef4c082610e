/** The options of `install` and `uninstall` that say for whom: the machine, or one user. */
import type { Command } from "commander";
import { ProcmanError } from "../core/base/errors.ts";
import type { BootScope } from "../satellites/boot/boot-record.ts";

export const DRY_RUN_HELP = "print what would be written and run, and do nothing";

export function withBootScope(command: Command): Command {
  return command
    .option("--system", "for the machine, as root (the default for root)")
    .option("--user", "for this user, without root (the default for others)");
}

type ScopeOptions = { readonly user?: boolean; readonly system?: boolean };

/** @throws {ProcmanError} `usage`: both, or what this user may not do */
export function bootScope({ user = false, system = false }: ScopeOptions, isDryRun: boolean): BootScope {
  const isRoot = process.geteuid?.() === 0;
  if (user && system) throw new ProcmanError("usage", "Cannot use --user and --system together: choose one");
  if (system && !isRoot && !isDryRun)
    throw new ProcmanError(
      "usage",
      'Cannot use --system: only root may change the machine; "sudo procman install --system", or --user',
    );
  if (user && isRoot && process.env.SUDO_USER)
    throw new ProcmanError(
      "usage",
      `Cannot use --user with sudo: it would be for root, not for ${process.env.SUDO_USER}; leave out sudo, or --user`,
    );
  return user || (!system && !isRoot) ? "user" : "system";
}
