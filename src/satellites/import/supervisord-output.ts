/** Log files of supervisord. */
import type { SupervisordProgram } from "./supervisord-program.ts";

/** Sizes of supervisord are powers of 1024. */
const SIZE = /^(\d+)\s*([KMG])?B?$/i;

export function outputFiles(program: SupervisordProgram): void {
  const { draft, fields } = program;
  const stdout = fileOf(program, "stdout_logfile");
  const isMerged = fields.flag("redirect_stderr") === true;
  const stderr = isMerged ? undefined : fileOf(program, "stderr_logfile");
  draft.merge("logger", { stdout, stderr });
  for (const stream of ["stdout", "stderr"])
    if (fields.flag(`${stream}_syslog`) === true)
      draft.note(`${stream}_syslog`, "the plugin procman/logship sends lines to syslog: docs/guide/plugins.md");
  const size = sizeIn(fields.text("stdout_logfile_maxbytes"));
  const backups = fields.number("stdout_logfile_backups");
  fields.skip("stderr_logfile_maxbytes", "stderr_logfile_backups");
  if (size === undefined && backups === undefined) return;
  if (size === 0) return void draft.merge("logger", { rotate: false });
  const bytes = size ?? 50 * 1024 ** 2;
  draft.merge("logger", { rotate: { size: bytes, ...(backups !== undefined && backups > 0 && { total: bytes * backups }) } });
}

function fileOf({ draft, fields, place }: SupervisordProgram, name: string): string | undefined {
  const given = fields.text(name);
  if (given === undefined || /^(AUTO|NONE)$/i.test(given)) return undefined;
  if (given === "syslog") draft.note(name, "the plugin procman/logship sends lines to syslog: docs/guide/plugins.md");
  else if (/^\/dev\/(stdout|stderr|fd\/[12])$/.test(given)) draft.merge("logger", { console: true });
  else if (given !== "/dev/null") return place(given);
  return undefined;
}

function sizeIn(text: string | undefined): number | undefined {
  const [, number = "", unit = ""] = SIZE.exec(text?.trim() ?? "") ?? [];
  return number === "" ? undefined : Number(number) * 1024 ** ["", "K", "M", "G"].indexOf(unit.toUpperCase());
}
