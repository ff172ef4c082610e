/** Probes of process-compose, as checks of procman. */
import { shellQuote } from "../../core/base/shell-quote.ts";
import { MAX_SECONDS } from "../../core/config/units.ts";
import { ForeignFields, scalarNumber, scalarText } from "./foreign-fields.ts";
import type { ForeignProcess } from "./foreign-process.ts";
import { bashLine } from "./shell-words.ts";

/** A probe: what it asks, and how often. Seconds. */
type ForeignProbe = {
  readonly own: ForeignFields;
  readonly asked: object;
  readonly delay: number;
  readonly period: number;
  readonly failures: number;
};

export function importProbes(process: ForeignProcess): void {
  const line = process.fields.text("ready_log_line");
  if (line !== undefined)
    process.draft.set("ready", {
      log: process.text(line).replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"),
      timeout: MAX_SECONDS,
    });
  readiness(process);
  liveness(process);
}

/** Others wait for it. What it does to the process itself is for the user to decide. */
function readiness(process: ForeignProcess): void {
  const probe = probeIn(process, "readiness_probe");
  if (probe === undefined) return;
  const { own, asked, delay, period, failures } = probe;
  if (process.draft.fields.ready !== undefined)
    process.draft.note("ready_log_line", '"ready" is one condition: here it is the probe');
  process.draft.set("ready", { ...asked, timeout: MAX_SECONDS });
  process.draft.note(
    "readiness_probe",
    `others wait for it, however long it takes. To stop the process after ${failures} failures, as process-compose does: "timeout": ${Math.max(1, delay + period * failures)} in "ready" for its start, "health" for later: docs/guide/supervision.md`,
  );
  own.skip("timeout_seconds", "success_threshold");
  own.rest({}, "process-compose");
}

/** process-compose checks only daemons by it. */
function liveness(process: ForeignProcess): void {
  const probe = probeIn(process, "liveness_probe");
  if (probe === undefined) return;
  const { own, asked, delay, period, failures } = probe;
  const timeout = own.number("timeout_seconds") ?? 1;
  const health = { ...asked, interval: period, timeout, failures, ...(delay > 0 && { startPeriod: delay }) };
  own.skip("success_threshold");
  own.rest({}, "process-compose");
  if (process.fields.flag("is_daemon") === true) process.draft.set("health", health);
  else
    process.draft.note(
      "liveness_probe",
      `process-compose restarts only daemons by it; this restarts the process: "health": ${JSON.stringify(health)}`,
    );
}

function probeIn(process: ForeignProcess, name: string): ForeignProbe | undefined {
  const given = process.fields.object(name);
  if (given === undefined) return undefined;
  const own = new ForeignFields(given, (field, advice) => process.draft.note(field, advice), `${name}.`);
  const asked = askedBy(own, process, name);
  if (asked === undefined) return undefined;
  return {
    own,
    asked,
    delay: own.number("initial_delay_seconds") ?? 0,
    period: own.number("period_seconds") ?? 10,
    failures: own.number("failure_threshold") ?? 3,
  };
}

/** What a probe asks, as procman writes it; undefined if it asks nothing. */
function askedBy(own: ForeignFields, process: ForeignProcess, name: string): object | undefined {
  const { draft, shellText } = process;
  const { command, working_dir: folder } = own.object("exec") ?? {};
  if (typeof command === "string") {
    const line = bashLine(shellText(command));
    return { exec: typeof folder === "string" ? `cd ${shellQuote(folder)} && ${line}` : line };
  }
  const http = own.object("http_get");
  if (http === undefined) return void draft.note(name, "has neither exec.command nor http_get, so it is left out");
  const { host, scheme, path, port, headers, status_code: status } = http;
  const [protocol, place] = [scalarText(scheme).toLowerCase() || "http", process.text(scalarText(path)) || "/"];
  const number = scalarText(port) === "" ? "" : `:${process.text(scalarText(port))}`;
  const url = `${protocol}://${process.text(scalarText(host)) || "127.0.0.1"}${number}${place}`;
  if (protocol === "http" && headers === undefined && status === undefined && !url.includes("${")) return { http: url };
  draft.note(`${name}.http_get`, "is asked by curl, which must be installed: procman itself asks by http alone");
  return { exec: curlLine(url, headers, scalarNumber(status)) };
}

function curlLine(url: string, headers: unknown, status: number): string {
  const sent = Object.entries(typeof headers === "object" && headers !== null ? headers : {})
    .map(([name, value]) => `-H ${shellQuote(`${name}: ${scalarText(value)}`)} `)
    .join("");
  // Only references are for the shell.
  const address = `"${url.replace(/[\\"`]|\$(?!\{)/g, "\\$&")}"`;
  return Number.isNaN(status)
    ? `curl -fsS -o /dev/null ${sent}${address}`
    : `[ "$(curl -sS -o /dev/null -w '%{http_code}' ${sent}${address})" = ${status} ]`;
}
