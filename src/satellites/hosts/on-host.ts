/** A command with `--host`: by ssh it runs on that machine, else here. */
import { addressIn } from "../../client/connection/host-address.ts";
import { hostsNamed, mayBeSeveral, type NamedHost } from "../../client/connection/host-file.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { runRemote, sshHost } from "./ssh.ts";

/**
 * How far a command reaches with `--host`; one without needs files of that machine, and runs there.
 *
 * - `api`: it needs nothing but the API.
 * - `several`: it also shows several hosts, and does so here.
 * - `upload`: it needs the API, and brings files of this machine there by ssh, which it does itself.
 * - `local`: it is about this machine.
 */
export type HostReach = "api" | "several" | "upload" | "local";

/**
 * Runs the command there. Resolves with false if it is to run here.
 *
 * @throws {ProcmanError} `usage`, `service-down`
 */
export async function runOnHost(
  name: string,
  { reach, rolls }: { readonly reach?: HostReach; readonly rolls?: true },
  args: readonly string[],
): Promise<boolean> {
  const { host: text, rest } = withoutHost(args);
  if (text === undefined || asksForHelp(rest)) return false;
  if (reach === "local")
    throw new ProcmanError("usage", `Cannot run "procman ${name}" with --host: it is about this machine`);
  const hosts = hostsNamed(text);
  if (rolls === true && mayBeSeveral(text)) return false;
  const [host] = hosts;
  if (reach === "several" && (mayBeSeveral(text) || name === "dashboard")) return false;
  if (host === undefined || hosts.length > 1) throw tooMany(name);
  if (reach === "upload") return false;
  const there = sshHost(host);
  if (there === undefined) {
    if (reach === undefined) throw notByApi(name, host);
    return false;
  }
  process.exitCode = await runRemote(there, [name, ...rest]);
  return true;
}

/** `--host` and its value, wherever they stand; what follows `--` belongs to another program. */
function withoutHost(args: readonly string[]): { readonly host: string | undefined; readonly rest: readonly string[] } {
  const end = args.includes("--") ? args.indexOf("--") : args.length;
  const at = args.findIndex((word, index) => index < end && (word === "--host" || word.startsWith("--host=")));
  const word = args[at];
  if (word === undefined) return { host: undefined, rest: args };
  const isJoined = word !== "--host";
  const host = isJoined ? word.slice("--host=".length) : args[at + 1];
  if (!host)
    throw new ProcmanError("usage", 'Cannot choose a host: --host needs a name; "procman host list" shows them');
  return { host, rest: [...args.slice(0, at), ...args.slice(at + (isJoined ? 1 : 2))] };
}

/** The help is the same everywhere. */
function asksForHelp(args: readonly string[]): boolean {
  const end = args.indexOf("--");
  return args.slice(0, end < 0 ? args.length : end).some((word) => word === "-h" || word === "--help");
}

function tooMany(name: string): ProcmanError {
  return new ProcmanError("usage", `Cannot run "procman ${name}" on several hosts; name one`);
}

function notByApi(name: string, { name: host, url }: NamedHost): ProcmanError {
  const [way, files, remedy] =
    addressIn(url).kind === "unix"
      ? ["by the socket of a group", "of its user", "run it as that user"]
      : ["by https", "of that machine", "add it by ssh://USER@HOST"];
  const why = `${host} is reached ${way}, and "procman ${name}" needs files ${files}`;
  return new ProcmanError("usage", `Cannot run "procman ${name}" on ${host}: ${why}; ${remedy}`);
}
