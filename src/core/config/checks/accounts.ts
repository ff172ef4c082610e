/** Users and groups of the machine, by name or number. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { UserAccount } from "../../contract/limits.ts";
import type { JsonPath } from "../document.ts";
import { MAX_ACCOUNT } from "../fields/process-fields.ts";
import type { PartialConfig, PartialProcess } from "../partial.ts";
import { type Finding, show } from "../problems.ts";

/** undefined: no such user. A number needs no entry. */
export function accountOf(user: string | number): UserAccount | undefined {
  const entry = entries("/etc/passwd").find(([name, , uid]) => name === user || Number(uid) === user);
  if (entry !== undefined) {
    const [name = "", , uid, gid, , home] = entry;
    return { name, uid: Number(uid), gid: Number(gid), ...(home === undefined ? {} : { home }) };
  }
  return typeof user === "number" ? { name: String(user), uid: user, gid: user } : directoryAccount(user);
}

export function groupOf(group: string | number): number | undefined {
  if (typeof group === "number") return group;
  const entry = entries("/etc/group").find(([name]) => name === group);
  return entry === undefined ? directoryGroup(group) : Number(entry[2]);
}

/** `api.group`: one that doesn't exist. */
export function apiGroupErrors({ api }: PartialConfig): readonly Finding[] {
  const group = api === false ? undefined : api?.group;
  const [name, path] = typeof group === "object" ? [group.name, ["name"]] : [group, []];
  if (name === undefined || groupOf(name) !== undefined) return [];
  const message = `Found ${show(name)}; this machine has no such group. Create it ("groupadd ${name}"), or correct the name.`;
  return [{ path: ["api", "group", ...path], message }];
}

/** `uid`: user id of procman. */
export function accountErrors(
  { user, group }: PartialProcess,
  path: JsonPath,
  uid: number | undefined = process.getuid?.(),
): readonly Finding[] {
  const findings: Finding[] = [];
  const refuse = (key: string, message: string): void => void findings.push({ path: [...path, key], message });
  const account = user === undefined ? undefined : accountOf(user);
  if (user !== undefined && account === undefined)
    refuse("user", `Found ${show(user)}; this machine has no such user. Create it, or correct the name.`);
  if (group !== undefined && groupOf(group) === undefined)
    refuse(
      "group",
      `Found ${show(group)}; this machine has no such group. Create it, or correct the name; a group of processes is set by "groups".`,
    );
  if (account !== undefined && Math.max(account.uid, account.gid) > MAX_ACCOUNT)
    refuse(
      "user",
      `Found ${show(user)}, the number ${Math.max(account.uid, account.gid)}; Node starts programs as users and groups up to ${MAX_ACCOUNT}.`,
    );
  const isOther = account !== undefined && account.uid !== uid;
  if (uid !== 0 && findings.length === 0 && (isOther || group !== undefined))
    refuse(
      isOther ? "user" : "group",
      `Found ${show(isOther ? user : group)}; only root may start processes as another user. Run procman as root, or leave it out.`,
    );
  return findings;
}

function entries(file: string): readonly (readonly string[])[] {
  try {
    return readFileSync(file, "utf8")
      .split("\n")
      .map((line) => line.split(":"));
  } catch {
    return [];
  }
}

/** Users of a directory service aren't in /etc/passwd. */
function directoryAccount(name: string): UserAccount | undefined {
  // `id` takes these for numbers: "+0" would be root.
  if (/^[\s+-]/.test(name)) return undefined;
  const query = (flag: string): number =>
    Number(execFileSync("id", [flag, "--", name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }));
  try {
    return { name, uid: query("-u"), gid: query("-g") };
  } catch {
    return undefined;
  }
}

/** The same of groups; macOS has `dscl` in place of `getent`. */
function directoryGroup(name: string): number | undefined {
  // `getent` takes "+0" and "0" for numbers.
  if (/^[+-]|^\d+$|[\s/:]/.test(name)) return undefined;
  const [program, args, found] =
    process.platform === "darwin"
      ? (["dscl", ["/Search", "-read", `/Groups/${name}`, "PrimaryGroupID"], /^PrimaryGroupID: (\d+)$/m] as const)
      : (["getent", ["group", name], /^[^:]+:[^:]*:(\d+):/] as const);
  try {
    const output = execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
    const gid = found.exec(output)?.[1];
    return gid === undefined ? undefined : Number(gid);
  } catch {
    return undefined;
  }
}
