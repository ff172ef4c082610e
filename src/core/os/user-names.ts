/** Names of users, for messages. */
import { readFileSync } from "node:fs";

/** For a sentence, in which "nobody" would mean something else. */
export function userInText(uid: number): string {
  const name = userName(uid);
  return name === "nobody" ? "the user nobody" : name;
}

/** `alice`; `user 1000` without an entry in /etc/passwd. */
export function userName(uid: number): string {
  try {
    const entry = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .find((line) => line.split(":")[2] === String(uid));
    return entry?.split(":")[0] ?? `user ${uid}`;
  } catch {
    return `user ${uid}`;
  }
}

/** @example askAs(1000) // run this as deploy: "sudo -u deploy procman status" */
export function askAs(uid: number): string {
  const name = userName(uid);
  const [, , command = ""] = process.argv;
  const words = `: "sudo -u ${name} procman ${/^[a-z]+$/.test(command) ? command : "…"}"`;
  return `run this as ${userInText(uid)}${name.includes(" ") ? "" : words}`;
}
