/** Probes of process-compose. */
import { ForeignFields, scalarText } from "./foreign-fields.ts";
import type { ForeignProcess } from "./foreign-process.ts";

/** What a probe asks, as procman writes it; undefined if it asks nothing. */
function askedBy(own: ForeignFields, { draft, text }: ForeignProcess, name: string): object | undefined {
  const exec = own.object("exec")?.command;
  if (typeof exec === "string") return { exec: text(exec) };
  const http = own.object("http_get");
  if (http === undefined) return void draft.note(name, "has neither exec.command nor http_get, so it is left out");
  const { host = "127.0.0.1", scheme = "http", path = "/", port } = http;
  if (scalarText(scheme).toLowerCase() === "https")
    draft.note(`${name}.http_get`, 'https isn\'t asked: procman asks by http, or write a command as "exec"');
  const url = `http://${text(scalarText(host))}${port === undefined ? "" : `:${text(scalarText(port))}`}${text(scalarText(path))}`;
  return { http: url };
}

function probeIn(process: ForeignProcess, name: string): { readonly own: ForeignFields; readonly asked: object } | undefined {
  const given = process.fields.object(name);
  if (given === undefined) return undefined;
  const own = new ForeignFields(given, (field, advice) => process.draft.note(field, advice), `${name}.`);
  const asked = askedBy(own, process, name);
  return asked === undefined ? undefined : { own, asked };
}

export function foreignReady(process: ForeignProcess): void {
  const line = process.fields.text("ready_log_line");
  if (line !== undefined) process.draft.set("ready", { log: process.text(line) });
  const probe = probeIn(process, "readiness_probe");
  if (probe === undefined) return;
  const { own, asked } = probe;
  const [delay, period, failures] = [
    own.number("initial_delay_seconds") ?? 0,
    own.number("period_seconds") ?? 10,
    own.number("failure_threshold") ?? 3,
  ];
  process.draft.set("ready", { ...asked, timeout: Math.max(1, delay + period * failures) });
  own.skip("timeout_seconds", "success_threshold");
  own.rest({}, "process-compose");
}

export function foreignHealth(process: ForeignProcess): void {
  const probe = probeIn(process, "liveness_probe");
  if (probe === undefined) return;
  const { own, asked } = probe;
  const delay = own.number("initial_delay_seconds");
  process.draft.set("health", {
    ...asked,
    interval: own.number("period_seconds") ?? 10,
    timeout: own.number("timeout_seconds") ?? 1,
    failures: own.number("failure_threshold") ?? 3,
    ...(delay !== undefined && { startPeriod: delay }),
  });
  own.skip("success_threshold");
  own.rest({}, "process-compose");
}
