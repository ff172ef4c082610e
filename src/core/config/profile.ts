/** Profiles: parts of the configuration that are merged over the rest when selected. */
import { isObject } from "../base/schema-check.ts";
import { didYouMean } from "../base/suggest.ts";
import type { Document } from "./document.ts";
import { type Finding, show } from "./problems.ts";

type ProfileData = Readonly<Record<string, unknown>>;

/** A profile can't change these: commands read them without profiles. */
const FIXED = ["$schema", "name", "profiles", "include"] as const;

/** Names of all profiles, valid or not. */
export function profileNames({ data }: Document): readonly string[] {
  return isObject(data) && isObject(data.profiles) ? Object.keys(data.profiles) : [];
}

/** Problems of the profile itself, before it is merged. */
export function profileErrors(document: Document, name: string): readonly Finding[] {
  const names = profileNames(document);
  if (!names.includes(name)) {
    const message =
      names.length === 0
        ? `Found no profile ${show(name)}: the file defines none. Remove --profile, or add "profiles".`
        : `Found no profile ${show(name)}; allowed: ${names.map(show).join(", ")}.${didYouMean(name, names)}`;
    return [{ path: ["profiles"], message }];
  }
  const profile = writtenIn(document.data, name);
  return FIXED.filter((key) => Object.hasOwn(profile, key)).map((key) => ({
    path: ["profiles", name, key],
    at: "key",
    message: `Found ${show(key)} in a profile; allowed: only at the top level.`,
  }));
}

/** What the profile says, without what it can't change. */
export function profileIn({ data }: Document, name: string): ProfileData {
  const members = Object.entries(writtenIn(data, name));
  return Object.fromEntries(members.filter(([key]) => !FIXED.some((fixed) => fixed === key)));
}

function writtenIn(data: unknown, name: string): ProfileData {
  const profiles = isObject(data) && isObject(data.profiles) ? data.profiles : {};
  const profile = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  return isObject(profile) ? profile : {};
}
