/** A Procfile, as foreman, Heroku and others read it. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { readEnvFile } from "../../core/base/env-file.ts";
import type { ConfigurationDraft } from "./configuration-draft.ts";
import { SourceFault } from "./source-fault.ts";
import type { ForeignFile } from "./source-file.ts";

/** Ports that foreman gives: that of the first program, and the distance to the next. */
const FIRST_PORT = 5_000;
const PORT_STEP = 100;
/** foreman kills what hasn't ended then. Seconds. */
const STOP_TIMEOUT = 5;

/** `readText`: reads a file beside it. @throws {SourceFault} at the first line that is none of a Procfile */
export function importProcfile(
  { file, shownAs, text }: ForeignFile,
  configuration: ConfigurationDraft,
  readText: (file: string) => string,
): void {
  const folder = dirname(file);
  const port = Number(importEnvFile(join(folder, ".env"), configuration, readText)) || FIRST_PORT;
  const cwd = configuration.path(folder, ".");
  const hasEnv = existsSync(join(folder, ".env"));
  let count = 0;
  configuration.merge("logger", { console: true });
  configuration.note(
    "Procfile",
    'foreman ends all programs when one has ended; here the others run on, and none is restarted: "restart": "error" restarts one, and `procman run --exit-with ID` ends with it',
  );
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const [, name, command] = /^([A-Za-z0-9_-]+):\s*(\S.*)$/s.exec(line) ?? [];
    if (name === undefined || command === undefined)
      throw new SourceFault({ line: index + 1, column: 1 }, faultOf(line));
    const draft = configuration
      .add(name, shownAs)
      .set("cmd", command.trimEnd())
      .set("cwd", cwd === "." ? undefined : cwd)
      .set("autostart", true)
      .set("stdin", true)
      .set("restart", "never")
      .set("terminateTimeout", STOP_TIMEOUT)
      .set("env", { PORT: port + PORT_STEP * count++ });
    if (hasEnv) draft.set("envFile", { path: configuration.path(folder, ".env"), optional: true });
    if (name === "release")
      draft.note(
        "release",
        'runs before a deployment there. Here the others can wait for it: "dependsOn": [{ "id": "release", "condition": "finished" }]',
      );
  }
  if (existsSync(join(folder, ".foreman")))
    configuration.note(".foreman", 'isn\'t read: its "formation" is "cluster", its "port" is PORT in "env"');
}

function faultOf(line: string): string {
  const expected = "expected a line such as `web: node server.js`";
  const [, name, command = ""] = /^([^:]*\S)\s*:(.*)$/s.exec(line) ?? [];
  if (name === undefined) return expected;
  if (/^\s/.test(name)) return `${expected}, without blanks in front of its name`;
  return command.trim() === "" && /^[\w-]+$/.test(name)
    ? `${expected}: ${name} has no command`
    : `${expected}; a name has only letters (a to z), digits, "_" and "-"`;
}

/** The port in it, if there is one. */
function importEnvFile(
  file: string,
  configuration: ConfigurationDraft,
  readText: (file: string) => string,
): string | undefined {
  if (!existsSync(file)) return undefined;
  const text = readText(file);
  const cut = text.split("\n").flatMap((line) => /^\s*([\w.]+)=[^"'`#\s][^"'`]*\s#/.exec(line)?.[1] ?? []);
  if (cut.length > 0)
    configuration.note(
      ".env",
      `a blank and # are part of the value for foreman, and begin a comment here: put the value of ${cut.join(", ")} in quotes`,
    );
  return readEnvFile(text).variables.PORT;
}
