/** The option `--scope`. */
import { ProcmanError } from "../core/base/errors.ts";
import { didYouMean } from "../core/base/suggest.ts";
import { SCOPES, type TokenScope } from "../core/contract/token-claims.ts";

/** @param what the end of "Cannot …" @throws {ProcmanError} `usage` */
export function scopesIn(text: string, what: string): readonly TokenScope[] {
  return text.split(/[\s,]+/).map((name) => {
    const scope = SCOPES.find((each) => each === name);
    if (scope !== undefined) return scope;
    const why = `there is no scope ${JSON.stringify(name)}; it is one of ${SCOPES.join(", ")}.${didYouMean(name, SCOPES)}`;
    throw new ProcmanError("usage", `Cannot ${what}: ${why}`);
  });
}
