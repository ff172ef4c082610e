/** What to do about fields of process-compose without an equal. */
import type { AdviceTable } from "./foreign-fields.ts";

const LOGGER = 'files, rotation and format are in "logger": docs/guide/logs.md';
const TERMINAL = "programs have no terminal; `procman monitor` shows their output";

export const PROCESS_COMPOSE_ADVICE: AdviceTable = {
  description: "",
  is_daemon: "keep the program in the foreground; what it leaves behind is supervised and ended nevertheless",
  launch_timeout_seconds: 'how long a start may take is "timeout" of "ready"',
  is_foreground: TERMINAL,
  is_interactive: TERMINAL,
  is_tty: TERMINAL,
  is_elevated: 'run procman as root, and give the others a "user"',
  log_configuration: LOGGER,
  disable_ansi_colors: "`procman logs` leaves colours out where they aren't wanted",
  disable_env_expansion: "",
  disable_dotenv: "",
  is_dotenv_disabled: "",
  is_template_disabled: "",
  extends: "procman has no inheritance between processes: write its fields here",
  is_strict: "",
  mcp: "procman has a REST API: docs/reference/api.md",
};

export const PROCESS_COMPOSE_TOP_ADVICE: AdviceTable = {
  version: "",
  name: "",
  is_strict: "",
  log_level: "",
  log_length: "",
  log_format: LOGGER,
  log_configuration: LOGGER,
  shell: "procman uses /bin/sh; lines that need bash are given to it",
  env_cmds: 'procman runs no command for a variable: let a "beforeStart" hook write an "envFile"',
  extends: "import that file, too",
  disable_env_expansion: "",
  is_tui_disabled: "",
  ordered_shutdown: "procman always stops dependents first",
};
