/** The arguments of `procman run`, read without loading the command line's own parser. */
import { parseArgs } from "node:util";
import { ProcmanError } from "../base/errors.ts";

export type RunOptions = {
  readonly config?: string;
  readonly console: boolean;
  /** Whoever started procman starts it again when it was killed. */
  readonly guarded: boolean;
};

/** @throws ProcmanError `usage` */
export function runOptions(args: readonly string[]): RunOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        config: { type: "string", short: "c" },
        console: { type: "boolean", default: false },
        guarded: { type: "boolean", default: false },
      },
      allowPositionals: false,
    });
    return {
      console: values.console ?? false,
      guarded: values.guarded ?? false,
      ...(values.config === undefined ? {} : { config: values.config }),
    };
  } catch (error) {
    throw new ProcmanError("usage", `Cannot run: ${(error as Error).message.split(". ")[0]}; see "procman run --help"`, { cause: error });
  }
}
