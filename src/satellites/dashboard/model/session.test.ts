/** The token of a tab. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { allows, Session, sessionOf } from "./session.ts";

function tokenWith(claims: object): string {
  return ["{}", JSON.stringify(claims), "signature"].map((part) => Buffer.from(part).toString("base64url")).join(".");
}

class MemoryStorage {
  readonly items = new Map<string, string>();
  getItem = (key: string): string | null => this.items.get(key) ?? null;
  setItem = (key: string, value: string): void => void this.items.set(key, value);
  removeItem = (key: string): void => void this.items.delete(key);
}

const ADMIN = tokenWith({ sub: "dashboard", scope: "read admin" });

test("a token says what its page may do; admin may do everything but type into processes, a limited token what its limits say", () => {
  const admin = sessionOf(ADMIN);
  assert.deepEqual([admin?.consumer, admin?.scopes], ["dashboard", ["read", "admin"]]);
  assert.ok(admin !== undefined && allows(admin, "control") && !allows(admin, "input"));
  const limited = sessionOf(tokenWith({ sub: "tëam", limited: { scope: "read", processes: ["web"], groups: [] } }));
  assert.ok(limited !== undefined && allows(limited, "read") && !allows(limited, "control"));
  assert.equal(limited.consumer, "tëam");
});

test("what is not a token is refused with a remedy, and not kept", () => {
  const storage = new MemoryStorage();
  const session = new Session(storage);
  for (const text of ["", "secret", "a.b", "a.b.c", "a.b.c.d", "<b>.x.y"]) {
    assert.equal(session.signIn(text), false, text);
    assert.match(session.state.value.problem ?? "", /"procman token --consumer NAME" prints one/);
  }
  assert.equal(storage.items.size, 0);
});

test("a token survives a reload of the page, and no sign-out", () => {
  const storage = new MemoryStorage();
  assert.ok(new Session(storage).signIn(` Bearer ${ADMIN}\n`));
  const reloaded = new Session(storage);
  assert.equal(reloaded.state.value.session?.token, ADMIN);
  reloaded.signOut("it was revoked");
  assert.deepEqual([reloaded.state.value, new Session(storage).state.value], [{ problem: "it was revoked" }, {}]);
});

test("a code is exchanged for a token in the body of a request; a refusal is shown", async () => {
  const requests: [unknown, RequestInit | undefined][] = [];
  const answer = (status: number, body: object) => async (url: unknown, init?: RequestInit) => {
    requests.push([url, init]);
    return new Response(JSON.stringify(body), { status });
  };
  const session = new Session(new MemoryStorage());
  await session.exchange("abc", answer(200, { token: ADMIN }) as typeof fetch);
  assert.equal(session.state.value.session?.token, ADMIN);
  assert.deepEqual([requests[0]?.[0], requests[0]?.[1]?.body], ["dashboard/token", '{"code":"abc"}']);
  await session.exchange("abc", answer(401, { code: "unauthorized", detail: "Cannot sign in: used" }) as typeof fetch);
  assert.deepEqual(session.state.value, { problem: "Cannot sign in: used" });
  await session.exchange("abc", (() => Promise.reject(new Error("no network"))) as typeof fetch);
  assert.match(session.state.value.problem ?? "", /Cannot reach procman: no network/);
});
