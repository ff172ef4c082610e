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

/** `readText`: reads a file beside it. @throws {SourceFault} at the first line that is none of a Procfile */
export function importProcfile(
  { file, shownAs, text }: ForeignFile,
  configuration: ConfigurationDraft,
  readText: (file: string) => string,
): void {
  const folder = dirname(file);
  const envFile = join(folder, ".env");
  const hasEnv = existsSync(envFile);
  const port = Number(hasEnv ? readEnvFile(readText(envFile)).variables.PORT : undefined) || FIRST_PORT;
  let count = 0;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const [, name, command] = /^([A-Za-z0-9_-]+):\s*(\S.*)$/.exec(line) ?? [];
    if (name === undefined || command === undefined)
      throw new SourceFault({ line: index + 1, column: 1 }, "expected a line as `web: node server.js`");
    const draft = configuration.add(name, shownAs);
    const cwd = configuration.path(folder, ".");
    draft
      .set("cmd", command.trimEnd())
      .set("cwd", cwd === "." ? undefined : cwd)
      .set("autostart", true)
      .set("stdin", true);
    draft.set("env", { PORT: port + PORT_STEP * count++ });
    if (hasEnv) draft.set("envFile", { path: configuration.path(folder, ".env"), optional: true });
    if (name === "release")
      draft
        .set("restart", "never")
        .note(
          "release",
          'runs before a deployment there. Here the others can wait for it: "dependsOn": [{ "id": "release", "condition": "finished" }]',
        );
  }
}
