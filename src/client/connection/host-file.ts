/** The user's list of other machines, and of procmans of other users on this one: `procman/hosts.json` in the folder of settings. */
import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { isNotFound, ProcmanError } from "../../core/base/errors.ts";
import { list, map, object, optional, string, type TypeOf } from "../../core/base/schema.ts";
import { faultsOf, matches } from "../../core/base/schema-check.ts";
import { didYouMean } from "../../core/base/suggest.ts";
import { withoutEnd } from "../../core/base/text-end.ts";
import { readWhole, writeWhole } from "../../core/os/careful-files.ts";
import { addressIn } from "./host-address.ts";

const HOST = object({
  /** `ssh://…`, `https://…` or `unix:/…`. */
  url: string(),
  /** ssh: how procman is called there. Default: `procman`. */
  program: optional(string()),
  /** https: absolute paths. */
  tokenFile: optional(string()),
  ca: optional(string()),
  groups: optional(list(string())),
});

const HOSTS = map(HOST);

export type StoredHost = TypeOf<typeof HOST>;
export type NamedHost = StoredHost & { readonly name: string };

/** Letters, digits, dot, underscore and hyphen; the first is a letter or a digit. */
const NAME = /^[a-z0-9][\w.-]*$/i;
/** All hosts of the list. */
const ALL = "all";
/** Before the name of a group. */
const GROUP = "@";

const SSH_PORT = 22;

function hostsFile(): string {
  return join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), "procman", "hosts.json");
}

/** @throws {ProcmanError} `usage`: the file is damaged */
export function allHosts(): readonly NamedHost[] {
  return Object.entries(storedHosts()).map(([name, host]) => ({ name, ...host }));
}

/**
 * The hosts of `--host`, each once: names and groups (`@web`) separated by commas, `all`, or an address that needs no
 * token.
 *
 * @throws {ProcmanError} `usage`
 */
export function hostsNamed(text: string): readonly NamedHost[] {
  const hosts = allHosts();
  if (text === ALL && hosts.length > 0) return hosts;
  const named = text.split(",").flatMap((name) => {
    if (name.startsWith(GROUP)) return membersOf(name.slice(GROUP.length), hosts);
    return hosts.find((host) => host.name === name) ?? unlisted(name, hosts);
  });
  return [...new Map(named.map((host) => [host.name, host])).values()];
}

/** Whether `--host` may stand for more than one, however many there are. */
export function mayBeSeveral(text: string): boolean {
  return text === ALL || text.includes(",") || text.startsWith(GROUP);
}

/** `@web` of each group. */
export function hostGroups(): readonly string[] {
  return groupsIn(allHosts()).map((name) => `${GROUP}${name}`);
}

function groupsIn(hosts: readonly NamedHost[]): readonly string[] {
  return [...new Set(hosts.flatMap(({ groups = [] }) => groups))];
}

/** @throws {ProcmanError} `usage` */
function membersOf(group: string, hosts: readonly NamedHost[]): readonly NamedHost[] {
  const members = hosts.filter(({ groups = [] }) => groups.includes(group));
  if (members.length > 0) return members;
  const groups = groupsIn(hosts);
  const known = groups.length === 0 ? "there is none yet;" : `known: ${groups.join(", ")}.${didYouMean(group, groups)}`;
  throw new ProcmanError(
    "usage",
    `Cannot find the group of hosts ${JSON.stringify(group)}: ${known} "procman host add NAME URL --group ${NAME.test(group) ? group : "GROUP"}" adds to one`,
  );
}

/** A list of which the user may have seen the names. @throws {ProcmanError} `usage` */
export function saveHost({ name, ...host }: NamedHost): void {
  for (const each of [name, ...(host.groups ?? [])])
    if (!NAME.test(each) || each === ALL)
      throw new ProcmanError(
        "usage",
        `Cannot add ${JSON.stringify(each)}: a name has letters, digits, dots, underscores and hyphens, and isn't "${ALL}"`,
      );
  const twin = allHosts().find((each) => each.name !== name && placeOf(each) === placeOf(host));
  if (twin !== undefined)
    throw new ProcmanError(
      "usage",
      `Cannot add ${name}: ${host.url} is in the list already, as ${twin.name}; what is done to several hosts would be done there twice ("procman host remove ${twin.name}" forgets that name)`,
    );
  write({ ...storedHosts(), [name]: host });
}

/** The same for two ways of writing one address. By another token it may do something else. */
function placeOf({ url, tokenFile = "" }: StoredHost): string {
  const address = addressIn(url);
  if (address.kind === "unix") return address.socket;
  if (address.kind === "https") return `${withoutEnd(new URL(url).href, "/")} ${tokenFile}`;
  const { destination, port = SSH_PORT, config = "" } = address;
  const at = destination.lastIndexOf("@") + 1;
  return `${destination.slice(0, at)}${destination.slice(at).toLowerCase()} ${port} ${withoutEnd(config.replace(/\/procman\.jsonc?$/, ""), "/")}`;
}

/** @throws {ProcmanError} `usage` */
export function removeHost(name: string): void {
  const { [name]: removed, ...rest } = storedHosts();
  if (removed === undefined) throw unknown(name, allHosts());
  write(rest);
}

function write(hosts: Readonly<Record<string, StoredHost>>): void {
  const file = hostsFile();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeWhole(file, `${JSON.stringify(hosts, undefined, 2)}\n`);
}

function storedHosts(): Readonly<Record<string, StoredHost>> {
  const file = hostsFile();
  const stored = parsed(file);
  if (matches(stored, HOSTS)) return stored;
  const [fault] = faultsOf(stored, HOSTS, "hosts");
  throw new ProcmanError(
    "usage",
    `Cannot read ${file}: ${fault?.message ?? "it is not a list of hosts"}; correct it, or remove it`,
  );
}

function parsed(file: string): unknown {
  try {
    return JSON.parse(readWhole(file).toString("utf8"));
  } catch (error) {
    if (isNotFound(error)) return {};
    throw new ProcmanError("usage", `Cannot read ${file}: ${(error as Error).message}; correct it, or remove it`, {
      cause: error,
    });
  }
}

/** An address in place of a name. @throws {ProcmanError} `usage` */
function unlisted(name: string, hosts: readonly NamedHost[]): NamedHost {
  if (!/^unix:|:\/\//.test(name)) throw unknown(name, hosts);
  if (addressIn(name).kind !== "https") return { name, url: name };
  throw new ProcmanError(
    "usage",
    `Cannot use ${name}: it needs a token: procman host add NAME ${name} --token-file FILE`,
  );
}

function unknown(name: string, hosts: readonly NamedHost[]): ProcmanError {
  const names = hosts.map((host) => host.name);
  const known = names.length === 0 ? "there is none yet;" : `known: ${names.join(", ")}.${didYouMean(name, names)}`;
  return new ProcmanError(
    "usage",
    `Cannot find the host ${JSON.stringify(name)}: ${known} "procman host add NAME ssh://USER@HOST" adds one`,
  );
}
