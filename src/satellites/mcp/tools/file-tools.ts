/** `validate`, `add` and `remove`: they read or edit the configuration file, and need no running procman. */
import { isDeepStrictEqual } from "node:util";
import { ProcmanError } from "../../../core/base/errors.ts";
import {
  boolean,
  integer,
  list,
  object,
  openObject,
  optional,
  type Schema,
  string,
} from "../../../core/base/schema.ts";
import { appendProcess, processIn, removeProcess } from "../../../core/config/edit/edit.ts";
import { check, checkSyntax, fileWith } from "../../../core/config/load.ts";
import { ConfigurationError } from "../../../core/config/problems.ts";
import type { ConfigProblem } from "../../../core/config/spec.ts";
import { READS, type Tool, tool } from "../tool.ts";
import { ID } from "../tool-fields.ts";
import { harmless } from "../untrusted.ts";

const PROBLEM = openObject({ file: string(), line: integer(), column: integer(), path: string(), message: string() });

const validateTool = tool({
  name: "validate",
  title: "Check the configuration file",
  description:
    "Checks the configuration file, and lists all problems with line and column. Missing programs, folders, variables and taken ports are warnings. Works without a running procman. The resource procman://schema has all fields.",
  input: object({ profile: optional(string({ minLength: 1, maxLength: 64 })) }),
  output: { file: string(), valid: boolean(), problems: list(PROBLEM), warnings: list(PROBLEM) },
  annotations: READS,
  needs: ["file"],
  call: async ({ profile }, { ports }) => {
    const source = ports.source();
    const { problems, warnings } = checked(() =>
      check(source, { allProfiles: true, looksAtFiles: true, ...(profile !== undefined && { profile }) }),
    );
    const valid = problems.length === 0;
    return {
      data: { file: source.file, valid, problems, warnings },
      text: [
        `${source.file}: ${valid ? "valid" : "not valid"}`,
        ...problems.map(lineOf),
        ...warnings.map((each) => `warning: ${lineOf(each)}`),
      ].join("\n"),
      next: valid ? 'Call "plan" to see what a reload would do.' : "Correct the file, and validate it again.",
    };
  },
});

const EDITED = {
  file: string({ description: "The file that was edited." }),
  changed: boolean({ description: "false: it was so already." }),
};

const ENTRY: Schema<Readonly<Record<string, unknown>>> = openObject(
  { id: string({ minLength: 1, maxLength: 64, description: "a-z 0-9 . _ -" }) },
  {
    description:
      'An entry of "processes" in the configuration file: id, cmd or worker, cwd, env, autostart, restart, ready and so on, as procman://schema has them. Without a start policy it gets "autostart": true.',
  },
);

const addTool = tool({
  name: "add",
  title: "Add a process to the file",
  description:
    "Adds a process to the configuration file, and keeps its comments and layout. Nothing is written if the file would become invalid. Starts nothing: reload does.",
  input: object({ process: ENTRY }),
  output: EDITED,
  annotations: { ...READS, readOnlyHint: false },
  needs: ["control", "file", "run"],
  call: async ({ process: given }, { ports }) => {
    const source = ports.source();
    // Existing problems are reported with their places in the present file.
    check(source);
    const id = String(given.id);
    const startsByItself = ["autostart", "cron", "watch", "task"].some((name) => Object.hasOwn(given, name));
    const added = startsByItself ? given : { ...given, autostart: true };
    const known = fileWith(id, source);
    if (known !== undefined && isDeepStrictEqual(processIn(known.text, id), added))
      return edited(known.file, false, `${id} is there already, with the same fields.`);
    const text = appendProcess(source.text, added);
    ports.checkEdited(`add ${JSON.stringify(id)}`, source, { ...source, text });
    await ports.replaceFile(source.file, text);
    return edited(source.file, true, `${id} was added.`);
  },
});

const removeTool = tool({
  name: "remove",
  title: "Remove a process from the file",
  description:
    "Removes a process and its comments from the configuration file; everything else stays. Stops nothing: reload does.",
  input: object({ id: ID }),
  output: EDITED,
  annotations: { ...READS, readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  needs: ["reload", "file"],
  call: async ({ id }, { ports }) => {
    const source = ports.source();
    // A file with other problems may be edited: that can repair it.
    checkSyntax(source);
    const home = fileWith(id, source) ?? source;
    const text = removeProcess(home.text, id);
    if (ports.isValid(source)) ports.checkEdited(`remove ${JSON.stringify(id)}`, source, { ...home, text });
    await ports.replaceFile(home.file, text);
    return edited(home.file, true, `${id} was removed.`);
  },
});

export const fileTools: readonly Tool[] = [validateTool, addTool, removeTool];

function edited(file: string, changed: boolean, what: string): Awaited<ReturnType<Tool["call"]>> {
  return {
    data: { file, changed },
    text: `${file}: ${what}`,
    next: 'If procman runs: "plan" shows what a reload would do, "reload" applies it.',
  };
}

type Checked = { readonly problems: readonly ConfigProblem[]; readonly warnings: readonly ConfigProblem[] };

function checked(run: () => { readonly warnings: readonly ConfigProblem[] }): Checked {
  try {
    return { problems: [], warnings: run().warnings };
  } catch (error) {
    if (error instanceof ConfigurationError) return { problems: error.problems, warnings: [] };
    if (error instanceof ProcmanError && error.code === "configuration-invalid")
      return { problems: [{ file: "", line: 0, column: 0, path: "", message: error.message }], warnings: [] };
    throw error;
  }
}

function lineOf({ file, line, column, path, message }: ConfigProblem): string {
  return harmless(`${file}:${line}:${column}: ${path === "" ? "" : `${path} `}${message}`);
}
