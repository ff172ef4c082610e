/** `procman token`: a token for the API. Works without a running procman. */
import type { Command } from "commander";
import { ProcmanError } from "../../base/errors.ts";
import { didYouMean } from "../../base/suggest.ts";
import { locate } from "../../config/locate.ts";
import { CONSUMER, expiresIn, payloadOf, SCOPES, type Scope } from "../../contract/claims.ts";
import { makeFolder } from "../../os/folder.ts";
import { signJwt } from "../../os/jwt.ts";
import { replaceSecret, secretIn } from "../../os/secret.ts";

/** 100 years. */
const LONGEST_SECONDS = 3_155_760_000;

type Options = {
  readonly config?: string;
  readonly consumer?: string;
  readonly expireIn?: string;
  readonly scope?: string;
  readonly rotate?: boolean;
  readonly json?: boolean;
};

export function define(parent: Command): void {
  parent
    .command("token")
    .summary("make a token for the API")
    .description(
      `Prints a token for "Authorization: Bearer TOKEN". It is revoked by its consumer's name in "api.revoked" of the configuration. --rotate replaces the secret first: all tokens of before are void, without a restart. Processes that run keep theirs until they are restarted.`,
    )
    .option("-c, --config <path>", "configuration file (default: procman.jsonc, then procman.json, in this folder)")
    .option("--consumer <name>", "who will use it: 1 to 64 of a-z A-Z 0-9 . _ -")
    .option("--expire-in <seconds>", "how long it is good (default: until it is revoked)")
    .option("--scope <scopes>", `what it is good for, of ${SCOPES.join(",")} (default: all)`)
    .option("--rotate", "replace the secret; without --consumer no token is made")
    .option("--json", "print token, consumer, scopes and expiry")
    .action((options: Options) => {
      const claims = options.consumer === undefined && options.rotate ? undefined : claimsOf(options);
      const { name, stateDir } = locate(options.config, process.cwd());
      const secret = secretOf(stateDir, options.rotate ?? false);
      if (claims === undefined) process.stderr.write("procman: the secret is replaced; all tokens of before are void\n");
      else process.stdout.write(`${shown({ ...claims, token: signJwt(payloadOf({ ...claims, audience: name }), secret) }, options)}\n`);
    });
}

type Claims = { readonly consumer: string; readonly scopes: readonly Scope[]; readonly expires?: number };

function claimsOf({ consumer, expireIn, scope }: Options): Claims {
  if (consumer === undefined) throw usage('no consumer is named; add "--consumer NAME", a name that tells who will use it');
  if (!CONSUMER.test(consumer)) throw usage(`the consumer ${JSON.stringify(consumer)} must be 1 to 64 of a-z A-Z 0-9 . _ -`);
  const scopes = scope === undefined ? SCOPES : scopesIn(scope);
  return { consumer, scopes, ...(expireIn === undefined ? {} : { expires: expiresIn(secondsIn(expireIn)) }) };
}

function scopesIn(text: string): readonly Scope[] {
  return text.split(/[\s,]+/).map((name) => {
    const scope = SCOPES.find((each) => each === name);
    if (scope === undefined)
      throw usage(`there is no scope ${JSON.stringify(name)}; it is one of ${SCOPES.join(", ")}.${didYouMean(name, SCOPES)}`);
    return scope;
  });
}

function secondsIn(text: string): number {
  const seconds = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (seconds >= 1 && seconds <= LONGEST_SECONDS) return seconds;
  throw usage(`"--expire-in" takes whole seconds, 1 to ${LONGEST_SECONDS}, not ${JSON.stringify(text)}`);
}

function secretOf(stateDir: string, rotate: boolean): Uint8Array {
  try {
    makeFolder(stateDir, 0o700);
    return rotate ? replaceSecret(stateDir) : secretIn(stateDir);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why = code === "EACCES" ? "it may not be used; ask as the user that runs procman" : message;
    throw new ProcmanError("state-folder", `Cannot make a token: the state folder ${stateDir}: ${why}`, { cause });
  }
}

function shown({ token, consumer, scopes, expires }: Claims & { readonly token: string }, { json = false }: Options): string {
  if (!json) return token;
  const end = expires === undefined ? {} : { expires: new Date(expires * 1_000).toISOString() };
  return JSON.stringify({ token, consumer, scopes, ...end }, undefined, 2);
}

function usage(why: string): ProcmanError {
  return new ProcmanError("usage", `Cannot make a token: ${why}`);
}
