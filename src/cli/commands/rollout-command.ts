/** `procman rollout`: what becomes of a command that acts on several hosts. */
import type { Command, CommandOptions } from "commander";
import {
  abortRollout,
  continueRollout,
  type RolloutOptions,
  showRollout,
} from "../../satellites/hosts/ongoing-rollout.ts";
import { withDriver } from "../rollout-options.ts";

const HOSTS_HELP = "where to look: names separated by commas, a group as @web, or all (default: all)";
const ID_HELP = "id of the rollout; not needed if only one is under way";

type Options = RolloutOptions & { readonly host?: string };

export function define(parent: Command): void {
  const command = parent
    .command("rollout")
    .description(
      "Shows, continues or ends what was begun on several hosts by `--host @GROUP`. Each host knows how far it is, so the client may have been killed, or another one may go on.",
    );
  const leaf = (name: string, summary: string, options: CommandOptions = {}): Command =>
    command.command(name, options).summary(summary).argument("[id]", ID_HELP).option("--host <names>", HOSTS_HELP);
  leaf("status", "how far each host is (what `procman rollout` does)", { isDefault: true })
    .description("How far each host is; without an id, the rollout that is under way, or the last one.")
    .option("--json", "print the API records")
    .action((id: string | undefined, { host, json = false }: Options) => showRollout(host, id, json));
  withDriver(
    leaf("continue", "go on with the next host").description(
      "Continues with the next host, and tries failed hosts again. A rollout that was going back continues to go back.",
    ),
  )
    .option("--json", "print the API records")
    .action((id: string | undefined, { host, ...options }: Options) => continueRollout(host, id, options));
  withDriver(
    leaf("abort", "end it, or go back").description(
      "Lets hosts finish what they have begun, then stops, or with --on-failure rollback goes back; another rollout may follow.",
    ),
  )
    .option("--json", "print the API records")
    .action((id: string | undefined, { host, ...options }: Options) => abortRollout(host, id, options));
}
