/** `healthcheck` of compose. */
import { shellQuote } from "../../core/base/shell-quote.ts";
import type { ComposeService } from "./compose-service.ts";
import { secondsIn } from "./compose-values.ts";
import { ForeignFields, scalarText } from "./foreign-fields.ts";

/** Docker's defaults. Seconds. */
const INTERVAL = 30;
const RETRIES = 3;

/** `isAwaited`: others wait until it is healthy. */
export function serviceHealth({ draft, fields }: ComposeService, isAwaited: boolean): void {
  const given = fields.object("healthcheck");
  if (given === undefined) {
    if (isAwaited)
      draft.note(
        "healthcheck",
        'others wait until it is healthy, but the check is in the image: say by "ready" when it is up, docs/guide/health.md',
      );
    return;
  }
  const own = new ForeignFields(given, (field, advice) => draft.note(field, advice), "healthcheck.");
  const exec = testOf(own.any("test"));
  const [interval, timeout, start] = ["interval", "timeout", "start_period"].map((name) => secondsIn(own.any(name)));
  const retries = own.number("retries");
  if (own.flag("disable") === true || exec === undefined) return;
  if (isAwaited) draft.set("ready", { exec, timeout: Math.max(1, (start ?? 0) + (interval ?? INTERVAL) * (retries ?? RETRIES)) });
  draft.set("health", {
    exec,
    interval: interval ?? INTERVAL,
    timeout: timeout ?? INTERVAL,
    failures: retries ?? RETRIES,
    ...(start !== undefined && { startPeriod: start }),
  });
  own.rest({ start_interval: "" }, "compose");
}

function testOf(given: unknown): string | undefined {
  if (typeof given === "string") return given.replaceAll("$$", "$");
  if (!Array.isArray(given)) return undefined;
  const [kind, ...words] = given.map((word) => scalarText(word).replaceAll("$$", "$"));
  if (kind === "CMD-SHELL") return words.join(" ");
  return kind === "CMD" ? words.map(shellQuote).join(" ") : undefined;
}
