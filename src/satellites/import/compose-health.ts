/** `healthcheck` of a service. compose shows that a service is unhealthy, and lets it run. */
import { MAX_SECONDS } from "../../core/config/units.ts";
import { containerName } from "./compose-container.ts";
import type { ComposeService } from "./compose-service.ts";
import { secondsIn } from "./compose-values.ts";
import { ForeignFields, scalarText } from "./foreign-fields.ts";
import { type ForeignText, interpolated, shellWord } from "./foreign-text.ts";

/** Docker's defaults. Seconds. */
const INTERVAL = 30;
const RETRIES = 3;

export function serviceHealth(service: ComposeService): void {
  const { draft, fields, project } = service;
  const isAwaited = project.awaited.has(draft.name);
  const given = fields.object("healthcheck");
  if (given === undefined) {
    if (isAwaited)
      draft.note(
        "healthcheck",
        'others wait until it is healthy, but the check is in the image: say by "ready" when it is up, docs/guide/supervision.md',
      );
    return;
  }
  const own = new ForeignFields(given, (field, advice) => draft.note(field, advice), "healthcheck.");
  const exec = testLine(service, own.any("test"));
  const [interval, timeout, start] = ["interval", "timeout", "start_period"].map((name) => secondsIn(own.any(name)));
  const failures = own.number("retries") ?? RETRIES;
  if (own.flag("disable") === true || exec === undefined) return;
  own.rest({ start_interval: "" }, "compose");
  if (isAwaited) draft.set("ready", { exec, timeout: MAX_SECONDS });
  const health = { exec, interval: interval ?? INTERVAL, timeout: timeout ?? INTERVAL, failures, startPeriod: start };
  draft.note(
    "healthcheck",
    `compose lets an unhealthy service run${isAwaited ? ", and others wait until it is healthy, as here" : ""}; to restart it: "health": ${JSON.stringify(health)}`,
  );
}

/** In a container it runs there. undefined: there is none. */
function testLine(service: ComposeService, given: unknown): string | undefined {
  const texts = (Array.isArray(given) ? given : ["CMD-SHELL", given]).map(scalarText);
  const [kind, ...words] = texts.map((text) => interpolated(text, () => undefined));
  const [name] = kind ?? [];
  if (name !== "CMD" && name !== "CMD-SHELL") return undefined;
  if (words.every((word) => word.length === 0)) return undefined;
  if (!service.isContainer) return name === "CMD" ? words.map(shellWord).join(" ") : words.map(shellLine).join(" ");
  const line = name === "CMD" ? words.map(shellWord).join(" ") : `/bin/sh -c ${words.map(shellWord).join(" ")}`;
  return `docker exec ${containerName(service)} ${line}`;
}

/** A line for a shell, with its variables. */
function shellLine(text: ForeignText): string {
  return text.map((piece) => (typeof piece === "string" ? piece : piece.shell)).join("");
}
