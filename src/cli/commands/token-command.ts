/** `procman token`: creates a token for the API. Works without a running procman. */
import type { Command } from "commander";
import { secretOf } from "../../client/connection/connect.ts";
import { CONNECT_TIMEOUT_MS, livingHolder } from "../../client/connection/endpoint-file.ts";
import { ProcmanError } from "../../core/base/errors.ts";
import { printableJson } from "../../core/base/printable.ts";
import { locate } from "../../core/config/find-config.ts";
import {
  type Claims,
  CONSUMER,
  DEFAULT_SCOPES,
  expiresIn,
  isForAll,
  payloadOf,
  SCOPES,
} from "../../core/contract/token-claims.ts";
import { monotonicMs } from "../../core/os/clock.ts";
import { signJwt } from "../../core/os/jwt.ts";
import { replaceSecret, secretIn } from "../../core/os/secret.ts";
import { startFolder } from "../../core/os/start-folder.ts";
import { makeStateFolder } from "../../core/os/state-folder.ts";
import { CONFIG_HELP } from "../config-option.ts";
import { scopesIn } from "../scopes.ts";
import { targetLocation } from "../target.ts";
import { limitsIn, listed } from "../token-limits.ts";

/** 100 years. */
const LONGEST_SECONDS = 3_155_760_000;

type Options = {
  readonly config?: string;
  readonly consumer?: string;
  readonly expireIn?: string;
  readonly scope?: string;
  readonly process?: readonly string[];
  readonly group?: readonly string[];
  readonly rotate?: boolean;
  readonly json?: boolean;
};

export function define(parent: Command): void {
  parent
    .command("token")
    .description(
      `Prints a token for "Authorization: Bearer TOKEN". To revoke it, add its consumer to "api.revoked" in the configuration. --rotate replaces the secret first, which invalidates all earlier tokens without a restart. Running processes keep their tokens until they restart.`,
    )
    .option("-c, --config <path>", CONFIG_HELP)
    .option("--consumer <name>", "name of its user: 1 to 64 of a-z A-Z 0-9 . _ -")
    .option("--expire-in <seconds>", "validity in seconds (default: until it is revoked)")
    .option("--scope <scopes>", `its scopes, of ${SCOPES.join(",")} (default: all but input)`)
    .option("--process <ids>", "limit it to these processes, instances or clusters, separated by commas", listed)
    .option("--group <names>", "limit it to these groups, separated by commas", listed)
    .option("--rotate", "replace the secret; without --consumer no token is created")
    .option("--json", "print token, consumer, scopes and expiry")
    .action(async (options: Options) => {
      const claims = options.consumer === undefined && options.rotate ? undefined : claimsOf(options);
      const { file, revoked } = locate(options.config, startFolder(options.config));
      // That of the running one, whose file may have another name now.
      const { name, stateDir } = targetLocation({ config: options.config });
      if (claims !== undefined && revoked.includes(claims.consumer)) throw revokedConsumer(claims.consumer, file);
      const secret = await secretFor(stateDir, options.rotate ?? false);
      if (claims === undefined)
        process.stderr.write("procman: the secret was replaced; all earlier tokens are invalid\n");
      else {
        process.stdout.write(
          `${formatted({ ...claims, token: signJwt(payloadOf({ ...claims, audience: name }), secret) }, options)}\n`,
        );
        process.stderr.write(powerOf(options));
      }
    });
}

type TokenAnswer = Pick<Claims, "consumer" | "scopes" | "expires" | "limits">;

function claimsOf({ consumer, expireIn, scope, ...options }: Options): TokenAnswer {
  if (consumer === undefined) throw usage('no consumer is given; add "--consumer NAME", the name of its user');
  if (!CONSUMER.test(consumer))
    throw usage(`the consumer ${JSON.stringify(consumer)} must be 1 to 64 of a-z A-Z 0-9 . _ -`);
  const limits = limitsIn(options, "create a token");
  const scopes =
    scope !== undefined
      ? scopesIn(scope, "create a token")
      : limits === undefined
        ? DEFAULT_SCOPES
        : DEFAULT_SCOPES.filter((each) => !isForAll(each));
  const forAll = scopes.find(isForAll);
  if (limits !== undefined && forAll !== undefined)
    throw usage(
      `the scope "${forAll}" is for all of procman, so a token with --process or --group can't have it; leave it out`,
    );
  return {
    consumer,
    scopes,
    ...(limits && { limits }),
    ...(expireIn === undefined ? {} : { expires: expiresIn(secondsIn(expireIn)) }),
  };
}

function secondsIn(text: string): number {
  const seconds = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= 1 && seconds <= LONGEST_SECONDS) return seconds;
  throw usage(`"--expire-in" takes whole seconds, 1 to ${LONGEST_SECONDS}, not ${JSON.stringify(text)}`);
}

/** A running procman makes its secret itself. */
async function secretFor(stateDir: string, rotate: boolean): Promise<Uint8Array> {
  try {
    makeStateFolder(stateDir);
    if (rotate) return replaceSecret(stateDir);
    return livingHolder(stateDir) === undefined
      ? secretIn(stateDir)
      : await secretOf(stateDir, monotonicMs() + CONNECT_TIMEOUT_MS);
  } catch (cause) {
    if (cause instanceof ProcmanError) throw cause;
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "EACCES" ? "permission denied; run the command as the user that runs procman" : message;
    throw new ProcmanError("state-folder", `Cannot create a token: the state folder ${stateDir}: ${why}`, { cause });
  }
}

/** What a token may do that was asked for without limits. */
function powerOf({ scope, expireIn, consumer, process, group }: Options): string {
  const isLimited = process !== undefined || group !== undefined;
  const all = isLimited
    ? "may see, control and write for these processes (see --scope)"
    : "may do everything but type into processes (see --scope)";
  const powers = [
    ...(scope === undefined ? [all] : []),
    ...(expireIn === undefined ? ["doesn't expire (see --expire-in)"] : []),
  ];
  return powers.length === 0
    ? ""
    : `procman: this token ${powers.join(" and ")}; "${consumer}" in "api.revoked" revokes it\n`;
}

function formatted(
  { token, consumer, scopes, limits, expires }: TokenAnswer & { readonly token: string },
  { json = false }: Options,
): string {
  if (!json) return token;
  const end = expires === undefined ? {} : { expires: new Date(expires * 1_000).toISOString() };
  return printableJson({ token, consumer, scopes, ...limits, ...end }, 2);
}

function revokedConsumer(consumer: string, file: string): ProcmanError {
  const remedy = `remove it from "api.revoked" in ${file}, or choose another name`;
  return new ProcmanError(
    "input-invalid",
    `Cannot create a token: the tokens of the consumer "${consumer}" are revoked; ${remedy}`,
  );
}

function usage(why: string): ProcmanError {
  return new ProcmanError("usage", `Cannot create a token: ${why}`);
}
