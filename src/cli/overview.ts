/** `procman help`: all commands. */
import { GROUPS, SUMMARIES } from "./commands.ts";

/** For the overview: the help of each command has those that it takes. */
const GLOBAL_OPTIONS = [
  ["-c, --config PATH", "configuration file, or its folder; also before the command"],
  ["--name NAME", "a running procman by its name"],
  ["--host NAME", "on another machine"],
  ["--json", "output for programs"],
] as const;

/** The output of `procman help`: all commands in groups, with summaries. */
export function overview(): string {
  const width = Math.max(...Object.keys(SUMMARIES).map((name) => name.length));
  return [
    "Usage: procman COMMAND [options]",
    "",
    "Starts, supervises, restarts, stops and logs the processes of one JSON file.",
    ...GROUPS.flatMap(({ title, commands }) => [
      "",
      `${title}:`,
      ...Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`),
    ]),
    "",
    "Options of most commands:",
    ...GLOBAL_OPTIONS.map(([option, what]) => `  ${option.padEnd(17)}  ${what}`),
    "",
    'See "procman help COMMAND". Start with "procman add PROGRAM", or "procman init" and "procman run".',
  ].join("\n");
}
