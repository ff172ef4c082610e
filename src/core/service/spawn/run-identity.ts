/** User and group that a process runs as. */
import type { ProcessSpec } from "../../config/spec.ts";

/** uid and gid for the spawn request. */
export function credentialsOf({ user, group = user?.gid }: ProcessSpec): {
  readonly uid?: number;
  readonly gid?: number;
} {
  return { ...(user === undefined ? {} : { uid: user.uid }), ...(group === undefined ? {} : { gid: group }) };
}

/** The variables with user name and home. A user without an entry has no home, and must not get that of procman's user. */
export function userVariables({ user }: ProcessSpec): Readonly<Record<string, string>> {
  if (user === undefined) return {};
  const { name, home } = user;
  return { USER: name, LOGNAME: name, HOME: home ?? "/" };
}
