/** When a service of systemd is restarted, and how it is stopped. */
import { ownMember } from "../../core/base/interpolate.ts";
import { spanOf } from "./on-calendar.ts";
import type { SystemdUnit } from "./service-unit.ts";

const RESTARTS: Readonly<Record<string, string>> = {
  no: "never",
  always: "always",
  "on-failure": "error",
  "on-abnormal": "error",
  "on-abort": "error",
  "on-watchdog": "error",
};

/** What procman's "error" does in addition. */
const NARROWER: Readonly<Record<string, string>> = {
  "on-abnormal": "systemd doesn't restart it after an exit code",
  "on-abort": "systemd restarts it only after a signal that it didn't handle",
  "on-watchdog": "systemd restarts it only after a timeout of its watchdog",
};

/** systemd counts the ends by these signals as clean. */
const CLEAN_SIGNALS = ["SIGHUP", "SIGINT", "SIGTERM", "SIGPIPE"];

/** Where a unit says nothing. */
const SYSTEMD_DEFAULTS = { restartSeconds: 0.1, burst: 5, intervalSeconds: 10 };

/** More than the longest time that procman knows. */
const ENDLESS_MS = 2_073_600_000;

const TYPES: Readonly<Record<string, string>> = {
  notify:
    'sd_notify isn\'t understood; "ready" says by a port, an address or a line when it is up: docs/guide/supervision.md',
  "notify-reload":
    'sd_notify isn\'t understood; "ready" says by a port, an address or a line when it is up: docs/guide/supervision.md',
  forking:
    "keep the program in the foreground, with its own option; what it leaves behind is supervised and ended all the same",
  dbus: '"ready" says when it is up: docs/guide/supervision.md',
};

/** `unit`: directives of `[Unit]`. */
export function serviceRestarts({ draft, one }: SystemdUnit, unit: ReadonlyMap<string, string>): void {
  const [type = "simple", given = "no"] = [one("Type"), one("Restart")];
  draft.set("restart", ownMember(RESTARTS, given) ?? "never");
  if (given === "on-success")
    draft.note("Restart", 'on-success: procman restarts after a success only together with all other ends: "always"');
  if (ownMember(TYPES, type) !== undefined) draft.note("Type", `${type}: ${ownMember(TYPES, type)}`);
  const narrower = ownMember(NARROWER, given);
  if (narrower !== undefined) draft.note("Restart", `${given}: ${narrower}; procman does so after every error`);
  const delay = spanOf(one("RestartSec"));
  if (draft.fields.restart !== "never") {
    draft.set("restartDelayMs", (delay ?? SYSTEMD_DEFAULTS.restartSeconds) * 1_000);
    startLimit({ draft, one }, unit, delay ?? SYSTEMD_DEFAULTS.restartSeconds);
  }
  const timeout = spanOf(one("RuntimeMaxSec"));
  if (timeout !== undefined && Number.isFinite(timeout)) draft.set("timeout", timeout);
  exitCodes({ draft, one });
}

/**
 * systemd refuses a start when there were `StartLimitBurst` of them in the interval: when, on average, a run and the
 * delay after it are shorter than the interval divided by the burst. Longer runs are restarted without end.
 */
function startLimit(
  { draft, one }: Pick<SystemdUnit, "draft" | "one">,
  unit: ReadonlyMap<string, string>,
  delay: number,
): void {
  const given = (name: string): string | undefined => unit.get(name) ?? one(name);
  const interval =
    spanOf(given("StartLimitIntervalSec") ?? given("StartLimitInterval")) ?? SYSTEMD_DEFAULTS.intervalSeconds;
  const written = given("StartLimitBurst");
  const burst = Number(written ?? SYSTEMD_DEFAULTS.burst);
  if (!Number.isInteger(burst) || burst <= 0 || interval === 0) return;
  const shortest = interval / burst - delay;
  if (shortest > 0)
    draft.set("restartLimit", burst - 1).set("restartResetMs", Math.min(ENDLESS_MS, Math.round(shortest * 1_000)));
  else if (written !== undefined)
    draft.note("StartLimitBurst", `${written} is never reached, because RestartSec waits too long: there is no limit`);
}

function exitCodes({ draft, one }: Pick<SystemdUnit, "draft" | "one">): void {
  const written = (one("SuccessExitStatus") ?? "").split(/\s+/).filter((code) => code !== "" && code !== "0");
  const codes: readonly (string | number)[] = written.map((code) => (/^\d+$/.test(code) ? Number(code) : code));
  const clean = draft.fields.restart === "error" ? CLEAN_SIGNALS.filter((signal) => !codes.includes(signal)) : [];
  if (codes.length + clean.length > 0) draft.set("successExitCodes", [...codes, ...clean]);
  if (one("RestartPreventExitStatus") !== undefined)
    draft.note(
      "RestartPreventExitStatus",
      'is "successExitCodes" if the end is not a failure; other codes always lead to a restart',
    );
  if (one("RestartForceExitStatus") !== undefined)
    draft.note(
      "RestartForceExitStatus",
      'restarts after certain codes only: "restart" is "always", "error" or "never"',
    );
}

/** The signal of a command such as `kill -s QUIT $MAINPID`, with `SIG`. undefined: it is another command. */
export function signalOfKill(command: string): string | undefined {
  const [, program = "", kill = ""] = /^\s*(\S+)(.*)$/s.exec(command) ?? [];
  if (!/(?:^|[-@:+!|/])kill$/.test(program) || !/\$\{?MAINPID/.test(kill)) return undefined;
  const [, name = "TERM"] = /\s-(?:s\s*|-signal[= ])?(?:SIG)?([A-Z]\w*)\b/.exec(kill) ?? [];
  return `SIG${name}`;
}

/** `ExecStop=` that is only a signal. */
function stopCommand({ draft, one }: Pick<SystemdUnit, "draft" | "one">): string | undefined {
  const command = one("ExecStop");
  if (command === undefined) return undefined;
  const signal = signalOfKill(command);
  if (signal === undefined)
    draft.note(
      "ExecStop",
      'procman runs no command to stop a process: it gets "stopSignal", and "hooks" has "afterStop"',
    );
  return signal;
}

/** systemd waits 90 s before it kills; procman by default 30 s. Seconds. */
const STOP_TIMEOUT = 90;

export function serviceStops({ draft, one }: SystemdUnit): void {
  const signal = stopCommand({ draft, one }) ?? one("KillSignal");
  if (signal !== undefined && signal !== "SIGTERM") draft.set("stopSignal", signal);
  const both = spanOf(one("TimeoutSec"));
  const timeout = spanOf(one("TimeoutStopSec")) ?? both ?? STOP_TIMEOUT;
  if (Number.isFinite(timeout)) draft.set("terminateTimeout", timeout);
  else draft.set("terminateTimeout", 86_400).note("TimeoutStopSec", "infinity: a day here");
  const mode = one("KillMode") ?? "control-group";
  if (mode === "mixed" || mode === "process") draft.set("killMode", "leader");
  if (mode === "process" || mode === "none")
    draft.note("KillMode", `${mode}: procman ends everything that a run has started`);
  const start = spanOf(one("TimeoutStartSec"));
  if (start !== undefined) draft.note("TimeoutStartSec", 'is "timeout" of "ready": docs/guide/supervision.md');
}
