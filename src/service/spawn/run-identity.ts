/** As whom a process runs. */
import type { ProcessSpec } from "../../config/spec.ts";

/** As the spawn of a child takes it. */
export function credentialsOf({ user, group = user?.gid }: ProcessSpec): { readonly uid?: number; readonly gid?: number } {
  return { ...(user === undefined ? {} : { uid: user.uid }), ...(group === undefined ? {} : { gid: group }) };
}

/** The variables that tell it who it is. */
export function userVariables({ user }: ProcessSpec): Readonly<Record<string, string>> {
  if (user === undefined) return {};
  const { name, home } = user;
  return { USER: name, LOGNAME: name, ...(home === undefined ? {} : { HOME: home }) };
}
