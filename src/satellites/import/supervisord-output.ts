/** Log files of a program of supervisord. */
import type { ForeignText } from "./foreign-text.ts";
import { textNow } from "./supervisord-expansions.ts";
import type { SupervisordProgram } from "./supervisord-program.ts";

/** Sizes of supervisord are powers of 1024. */
const SIZE = /^(\d+)\s*([KMG])?B?$/i;

/** Where a program says nothing. */
const FILE_BYTES = 50 * 1024 ** 2;
const FILE_BACKUPS = 10;

/** `environment`: the program's own variables. */
export function programOutput(program: SupervisordProgram, environment: Readonly<Record<string, ForeignText>>): void {
  const { draft, fields, configuration } = program;
  const isMerged = fields.flag("redirect_stderr") === true;
  const stdout = targetOf(program, "stdout_logfile", environment);
  const stderr = isMerged ? undefined : targetOf(program, "stderr_logfile", environment);
  draft.merge("logger", { stdout: stdout.file, stderr: stderr?.file });
  if (stdout.isConsole || stderr?.isConsole === true) {
    draft.merge("logger", { console: true });
    // supervisord copies the lines as they are.
    configuration.merge("logger", { prefix: false });
    if (!isMerged && stdout.isConsole !== stderr?.isConsole)
      draft.note("stdout_logfile", "procman prints both streams of a process, or none");
  }
  if (!isMerged && stdout.file !== undefined && stderr?.file === undefined && stderr?.isConsole === false)
    draft.note(
      "stderr_logfile",
      'standard error goes to the file of standard output, too; "stderr" of "logger" names another one',
    );
  for (const stream of ["stdout", "stderr"])
    if (fields.flag(`${stream}_syslog`) === true)
      draft.note(`${stream}_syslog`, "the plugin procman/logship sends lines to syslog: docs/guide/plugins.md");
  rotation(program, stdout.file !== undefined || stderr?.file !== undefined);
}

function rotation({ draft, fields }: SupervisordProgram, hasFile: boolean): void {
  const size = sizeIn(fields.text("stdout_logfile_maxbytes"));
  const backups = fields.number("stdout_logfile_backups");
  const other = sizeIn(fields.text("stderr_logfile_maxbytes"));
  fields.skip("stderr_logfile_backups");
  if (!hasFile) return;
  if (other !== undefined && other !== (size ?? FILE_BYTES))
    draft.note("stderr_logfile_maxbytes", '"rotate" is the same for both files of a process');
  const bytes = size ?? FILE_BYTES;
  const total = bytes * (backups ?? FILE_BACKUPS);
  draft.merge("logger", { rotate: size === 0 ? false : { size: bytes, ...(total > 0 && { total }) } });
}

type OutputTarget = { readonly file?: string; readonly isConsole: boolean };

const NOWHERE: OutputTarget = { isConsole: false };

function targetOf(
  { draft, fields, configuration, folder, expand }: SupervisordProgram,
  name: string,
  environment: Readonly<Record<string, ForeignText>>,
): OutputTarget {
  const given = fields.text(name);
  if (given === undefined || /^(AUTO|NONE)$/i.test(given) || given === "/dev/null") return NOWHERE;
  if (given === "syslog") {
    draft.note(name, "the plugin procman/logship sends lines to syslog: docs/guide/plugins.md");
    return NOWHERE;
  }
  if (/^\/dev\/(stdout|stderr|fd\/[12])$/.test(given)) return { isConsole: true };
  const pieces = expand(given);
  const own = Object.entries(environment).map(([variable, value]) => [variable, textNow(value, process.env).text]);
  const { text, names } = textNow(pieces, { ...process.env, ...Object.fromEntries(own) });
  const changing = names.filter((variable) => environment[variable] === undefined);
  if (text === undefined) {
    draft.note(
      name,
      `is left out: ${changing.join(", ")} is not set here, and a log file has no variables; write its path`,
    );
    return NOWHERE;
  }
  if (changing.length > 0)
    draft.note(name, `${changing.join(", ")} has the value of this moment: a log file has no variables`);
  const path = text.replaceAll("${PROCMAN_CLUSTER_INSTANCE}", "{instance}");
  if (path !== text || pieces.some((piece) => typeof piece !== "string" && piece.isRough === true))
    draft.note(
      name,
      `the files are numbered from 1: ${path.replace("{instance}", "1")}, ${path.replace("{instance}", "2")}`,
    );
  return { file: configuration.path(folder, path), isConsole: false };
}

function sizeIn(text: string | undefined): number | undefined {
  const [, number = "", unit = ""] = SIZE.exec(text?.trim() ?? "") ?? [];
  return number === "" ? undefined : Number(number) * 1024 ** ["", "K", "M", "G"].indexOf(unit.toUpperCase());
}
