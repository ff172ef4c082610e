/** The arguments of `procman run`, read without loading the command line's own parser. */
import { parseArgs } from "node:util";
import { ProcmanError } from "../base/errors.ts";

export type RunOptions = {
  readonly config?: string;
  readonly console: boolean;
  /** Set by `run --detach` for the procman that it starts: there is no terminal to print on. */
  readonly detached: boolean;
};

/** @throws ProcmanError `usage` */
export function runOptions(args: readonly string[]): RunOptions {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        config: { type: "string", short: "c" },
        console: { type: "boolean", default: false },
        detached: { type: "boolean", default: false },
      },
      allowPositionals: false,
    });
    const { console = false, detached = false } = values;
    return { console, detached, ...(values.config === undefined ? {} : { config: values.config }) };
  } catch (error) {
    throw new ProcmanError("usage", `Cannot run: ${(error as Error).message.split(". ")[0]}; see "procman run --help"`, { cause: error });
  }
}
