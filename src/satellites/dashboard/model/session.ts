/** The token of this tab. It is kept in the tab alone, survives a reload of the page, and is in no address. */
import { errorOf } from "../../../client/transport.ts";
import { ProcmanError } from "../../../core/base/errors.ts";
import type { SignInToken } from "../../../core/contract/dashboard-access.ts";
import { isAllowed, SCOPES, type TokenScope } from "../../../core/contract/token-claims.ts";
import { Observable } from "./observable.ts";

const KEY = "procman-token";

export type TabSession = {
  readonly token: string;
  readonly consumer: string;
  readonly scopes: readonly TokenScope[];
};

export type SignInState = {
  readonly session?: TabSession;
  /** Why there is no session. */
  readonly problem?: string;
  /** A code is being exchanged. */
  readonly isBusy?: true;
};

type TabStorage = Pick<Storage, "getItem" | "setItem" | "removeItem">;

export class Session {
  readonly #storage: TabStorage;
  readonly #key: string;
  readonly state: Observable<SignInState>;

  /** `path`: of the page; a tab can show several procmans below different paths. */
  constructor(storage: TabStorage, path = "/") {
    this.#storage = storage;
    this.#key = keyOf(path);
    const session = storedSession(storage, path);
    this.state = new Observable(session === undefined ? {} : { session });
  }

  /** @returns whether the text is a token */
  signIn(text: string): boolean {
    const session = sessionOf(text.trim().replace(/^Bearer\s+/i, ""));
    if (session === undefined) {
      this.state.set({
        problem: 'This is not a token. "procman token --consumer NAME" prints one: three parts with dots between them.',
      });
      return false;
    }
    this.#storage.setItem(this.#key, session.token);
    this.state.set({ session });
    return true;
  }

  /** Exchanges the code of a link. `base`: address of the API, if it isn't that of the page. */
  async exchange(code: string, send: typeof fetch = fetch, base = ""): Promise<void> {
    this.state.set({ isBusy: true });
    try {
      const body = JSON.stringify({ code });
      const reply = await send(`${base}dashboard/token`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body,
      });
      const text = await reply.text();
      if (reply.status !== 200) throw errorOf(reply.status, text);
      this.signIn((JSON.parse(text) as SignInToken).token);
    } catch (error) {
      this.signOut(error instanceof ProcmanError ? error.message : `Cannot reach procman: ${(error as Error).message}`);
    }
  }

  /** `problem`: why, if the user didn't ask for it. */
  signOut(problem?: string): void {
    this.#storage.removeItem(this.#key);
    this.state.set(problem === undefined ? {} : { problem });
  }
}

/** What is kept for the page with this path. */
function storedSession(storage: Pick<Storage, "getItem">, path: string): TabSession | undefined {
  const token = storage.getItem(keyOf(path));
  return token === null ? undefined : sessionOf(token);
}

function keyOf(path: string): string {
  return path === "/" ? KEY : `${KEY} ${path}`;
}

/** Whether a token with these scopes may do what needs this one. */
export function allows({ scopes }: TabSession, scope: TokenScope): boolean {
  return isAllowed(scope, scopes);
}

/** What the token says of itself; the service verifies it. undefined: it is not a token. */
export function sessionOf(token: string): TabSession | undefined {
  const payload = /^[\w-]+\.([\w-]+)\.[\w-]+$/.exec(token)?.[1];
  if (payload === undefined) return undefined;
  try {
    const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (character) =>
      character.charCodeAt(0),
    );
    const { sub, scope, limited } = JSON.parse(new TextDecoder().decode(bytes)) as {
      readonly sub?: unknown;
      readonly scope?: unknown;
      readonly limited?: { readonly scope?: unknown };
    };
    const granted = String(limited?.scope ?? scope ?? "").split(" ");
    return { token, consumer: String(sub), scopes: SCOPES.filter((each) => granted.includes(each)) };
  } catch {
    return undefined;
  }
}
