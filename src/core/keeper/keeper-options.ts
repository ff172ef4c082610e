/** The arguments of `procman run`, read without loading the command line's own parser. */
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { ProcmanError } from "../base/errors.ts";

export type KeeperRunOptions = {
  readonly config?: string;
  readonly console: boolean;
  /** The program that started procman restarts it when it is killed: no failover. */
  readonly guarded: boolean;
  /** Set by `run --detach` for the procman that it starts, which has no terminal. */
  readonly detached: boolean;
  /** With `console` on a terminal: goes on when that is closed. */
  readonly keep: boolean;
  /** Reload when the configuration file changes. */
  readonly watchConfig: boolean;
  /** Name of the profile that is merged into the configuration. */
  readonly profile?: string;
  /** Processes that start, with what they depend on; absent: all that start with procman. */
  readonly ids?: readonly string[];
  /** Nothing restarts; procman ends when everything has ended. */
  readonly once: boolean;
  /** Id of the process whose end ends procman. */
  readonly exitWith?: string;
  /** Set by the library and by `dev`: procman ends with this program. */
  readonly parent?: ParentOptions;
  /** Set by `dev`, which shows the console on a terminal or not: it gets lines of JSON. */
  readonly front?: "terminal" | "plain";
  /** Processes that don't start. */
  readonly except?: readonly string[];
  /** Processes that restart when a file in their folder changes. */
  readonly watch?: readonly string[];
};

/** `PID-STARTTIME` on the command line: a later process of the same pid is another one. */
export type ParentOptions = { readonly pid: number; readonly startTime: string };

const OPTIONS = {
  config: { type: "string", short: "c" },
  console: { type: "boolean", default: false },
  guarded: { type: "boolean", default: false },
  detached: { type: "boolean", default: false },
  keep: { type: "boolean", default: false },
  "watch-config": { type: "boolean", default: false },
  profile: { type: "string" },
  once: { type: "boolean", default: false },
  "exit-with": { type: "string" },
  "with-parent": { type: "string" },
  front: { type: "string" },
  except: { type: "string", multiple: true },
  watch: { type: "string", multiple: true },
} as const;

/** The same with the absolute path of the file, for another keeper, which is started in another folder. */
export function withAbsoluteConfig(args: readonly string[], folder: string): readonly string[] {
  const { tokens } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, tokens: true });
  const absolute = [...args];
  for (const token of tokens.toReversed())
    if (token.kind === "option" && token.name === "config")
      absolute.splice(token.index, token.inlineValue ? 1 : 2, `--config=${resolve(folder, token.value)}`);
  return absolute;
}

/** @throws ProcmanError `usage` */
export function runOptions(args: readonly string[]): KeeperRunOptions {
  try {
    const { values, positionals } = parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true });
    const empty = Object.entries(values).find(([, value]) => [value].flat().includes(""));
    if (empty !== undefined) throw new Error(`the value of --${empty[0]} is empty`);
    const { config, profile, console = false, guarded = false, detached = false, keep = false, once = false } = values;
    const { "watch-config": watchConfig = false, "exit-with": exitWith, "with-parent": parent } = values;
    const { front, except, watch } = values;
    return {
      console,
      guarded,
      detached,
      keep,
      watchConfig,
      once,
      ...(positionals.length === 0 ? {} : { ids: positionals }),
      ...(config === undefined ? {} : { config }),
      ...(profile === undefined ? {} : { profile }),
      ...(exitWith === undefined ? {} : { exitWith }),
      ...(parent === undefined ? {} : { parent: parentIn(parent) }),
      ...(front === undefined ? {} : { front: frontIn(front) }),
      ...(except === undefined ? {} : { except }),
      ...(watch === undefined ? {} : { watch }),
    };
  } catch (error) {
    throw new ProcmanError(
      "usage",
      `Cannot run: ${(error as Error).message.split(". ")[0]}; see "procman run --help"`,
      { cause: error },
    );
  }
}

function frontIn(text: string): "terminal" | "plain" {
  if (text === "terminal" || text === "plain") return text;
  throw new Error(`--front takes terminal or plain, not ${JSON.stringify(text)}`);
}

function parentIn(text: string): ParentOptions {
  const [, pid, startTime] = /^([1-9]\d*)-(.+)$/.exec(text) ?? [];
  if (pid === undefined || startTime === undefined)
    throw new Error(`--with-parent takes PID-STARTTIME, not ${JSON.stringify(text)}`);
  return { pid: Number(pid), startTime };
}
