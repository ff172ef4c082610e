/** Specifiers of systemd: `%n`, `%i`, `%h`. */
import { homedir, hostname, userInfo } from "node:os";

/** Replaces the specifiers in a text of the unit of this name (without its ending). */
export function specifiersOf(name: string, unknown: (what: string) => void): (text: string) => string {
  const [prefix = name, instance = ""] = name.split(/@(.*)/s);
  const isTemplate = name.endsWith("@");
  const values: Readonly<Record<string, () => string>> = {
    "%": () => "%",
    n: () => `${name}.service`,
    N: () => name,
    p: () => prefix,
    P: () => prefix.replaceAll("-", "/"),
    i: () => (isTemplate ? "{instance}" : instance),
    I: () => (isTemplate ? "{instance}" : instance.replaceAll("-", "/")),
    h: () => homedir(),
    H: () => hostname(),
    u: () => userInfo().username,
    U: () => String(userInfo().uid),
    t: () => "/run",
    S: () => "/var/lib",
    C: () => "/var/cache",
    L: () => "/var/log",
    E: () => "/etc",
    T: () => "/tmp",
    V: () => "/var/tmp",
  };
  return (text) =>
    text.replace(/%([\s\S])/g, (written, letter: string) => {
      const value = Object.hasOwn(values, letter) ? values[letter]?.() : undefined;
      if (value === undefined) unknown(written);
      return value ?? written;
    });
}
