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

const TYPES: Readonly<Record<string, string>> = {
  notify:
    'sd_notify isn\'t understood; "ready" says by a port, an address or a line when it is up: docs/guide/supervision.md',
  "notify-reload":
    'sd_notify isn\'t understood; "ready" says by a port, an address or a line when it is up: docs/guide/supervision.md',
  forking:
    "keep the program in the foreground, by its own option; what it leaves behind is supervised and ended nevertheless",
  dbus: '"ready" says when it is up: docs/guide/supervision.md',
};

/** `unit`: directives of `[Unit]`. */
export function serviceRestarts({ draft, one }: SystemdUnit, unit: ReadonlyMap<string, string>): void {
  const [type = "simple", given = "no"] = [one("Type"), one("Restart")];
  draft.set("restart", ownMember(RESTARTS, given) ?? "never");
  if (given === "on-success")
    draft.note("Restart", 'on-success: procman restarts after a success only together with all other ends: "always"');
  if (ownMember(TYPES, type) !== undefined) draft.note("Type", `${type}: ${ownMember(TYPES, type)}`);
  const delay = spanOf(one("RestartSec"));
  if (delay !== undefined) draft.set("restartDelayMs", delay * 1_000);
  const interval = spanOf(unit.get("StartLimitIntervalSec") ?? unit.get("StartLimitInterval"));
  const burst = unit.get("StartLimitBurst") ?? one("StartLimitBurst");
  if (burst !== undefined && interval !== 0) draft.set("restartLimit", Number(burst));
  if (interval !== undefined && interval > 0 && Number.isFinite(interval))
    draft.set("restartResetMs", interval * 1_000);
  const timeout = spanOf(one("RuntimeMaxSec"));
  if (timeout !== undefined && Number.isFinite(timeout)) draft.set("timeout", timeout);
  exitCodes({ draft, one });
}

function exitCodes({ draft, one }: Pick<SystemdUnit, "draft" | "one">): void {
  const codes = (one("SuccessExitStatus") ?? "").split(/\s+/).filter((code) => code !== "" && code !== "0");
  if (codes.length > 0)
    draft.set(
      "successExitCodes",
      codes.map((code) => (/^\d+$/.test(code) ? Number(code) : code)),
    );
  if (one("RestartPreventExitStatus") !== undefined)
    draft.note(
      "RestartPreventExitStatus",
      'is "successExitCodes" if the end is not a failure; other codes always lead to a restart',
    );
}

/** systemd waits 90 s before it kills; procman by default 30 s. Seconds. */
const STOP_TIMEOUT = 90;

export function serviceStops({ draft, one }: SystemdUnit): void {
  const signal = one("KillSignal");
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
