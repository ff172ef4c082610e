/** When a program of supervisord is restarted, and how it is stopped. */
import { constants } from "node:os";
import type { SupervisordProgram } from "./supervisord-program.ts";

/** What supervisord does where a program says nothing. */
const SUPERVISORD_DEFAULTS = { startSeconds: 1, retries: 3, stopSeconds: 10 };

/** supervisord waits one second before the first try, two before the second, and so on; after a longer run at most one. */
const RETRY_DELAY_MS = 1_000;

export function programRestarts(program: SupervisordProgram): void {
  const { draft, fields, numberOf } = program;
  const when = fields.text("autorestart")?.toLowerCase() ?? "unexpected";
  const isNever = /^(false|no|off|0)$/.test(when);
  draft.set("restart", /^(true|yes|on|1)$/.test(when) ? "always" : isNever ? "never" : "error");
  exitCodes(program);
  const seconds = fields.number("startsecs");
  if (seconds !== undefined) draft.set("minUptimeMs", seconds * 1_000);
  const uptime = seconds ?? SUPERVISORD_DEFAULTS.startSeconds;
  const retries = numberOf("startretries") ?? SUPERVISORD_DEFAULTS.retries;
  if (!isNever) {
    draft
      .set("restartDelayMs", RETRY_DELAY_MS)
      .set("restartLimit", retries)
      .set("restartResetMs", uptime * 1_000);
    if (typeof retries === "number" && retries > SUPERVISORD_DEFAULTS.retries)
      draft.note(
        "startretries",
        `supervisord waits longer before each try, ${(retries * (retries + 1)) / 2} s together; here each one waits for "restartDelayMs"`,
      );
  } else if (uptime > 0 && retries !== 0)
    draft.note(
      "autorestart",
      `supervisord starts it again up to ${retries} times if it ends within ${uptime} s; procman doesn't with "restart": "never"`,
    );
}

function exitCodes({ draft, fields }: SupervisordProgram): void {
  const codes = fields
    .text("exitcodes")
    ?.split(",")
    .map((code) => Number(code.trim()));
  const others = codes?.filter((code) => Number.isInteger(code) && code !== 0) ?? [];
  if (others.length > 0) draft.set("successExitCodes", others);
  if (codes !== undefined && !codes.includes(0))
    draft.note("exitcodes", "0 is not among them; in procman it always counts as success");
}

export function programStops({ draft, fields, numberOf }: SupervisordProgram): void {
  const signal = signalName(fields.text("stopsignal"));
  if (signal === "KILL")
    draft.set("terminateTimeout", 0).note("stopsignal", "KILL: it gets SIGTERM, and SIGKILL at once");
  else if (signal !== undefined && signal !== "TERM") draft.set("stopSignal", `SIG${signal}`);
  const wait = numberOf("stopwaitsecs") ?? SUPERVISORD_DEFAULTS.stopSeconds;
  if (signal !== "KILL") draft.set("terminateTimeout", wait);
  const reachesGroup = fields.flag("stopasgroup") === true;
  if (!reachesGroup) draft.set("killMode", "leader");
  fields.skip("killasgroup");
}

/** `TERM` of `TERM`, `sigterm` and `15`. */
function signalName(text: string | undefined): string | undefined {
  const given = text?.trim();
  const name = Object.entries(constants.signals).find(([, number]) => String(number) === given)?.[0];
  return (name ?? given)?.toUpperCase().replace(/^SIG/, "");
}
