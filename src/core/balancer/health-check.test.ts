/** Attempts of the health check to connect. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { BackendSpec } from "../ipc/balancer-protocol.ts";
import { Backends } from "./backends.ts";
import { HealthCheck } from "./health-check.ts";
import type { Tcp, TcpHandle } from "./tcp-handle.ts";

type Attempt = { readonly port: number; isClosed: boolean; readonly answer: (status: number) => void };

function rig(context: TestContext, specs: readonly BackendSpec[]) {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  let now = 0;
  context.mock.method(performance, "now", () => now);
  const attempts: Attempt[] = [];
  const newSocket = (): TcpHandle => ({ close: () => undefined }) as TcpHandle;
  const connect: Tcp["connect"] = (handle, _address, port, answer) => {
    const attempt: Attempt = { port, isClosed: false, answer };
    handle.close = () => {
      attempt.isClosed = true;
    };
    attempts.push(attempt);
  };
  const backends = new Backends("round-robin");
  backends.set("round-robin", specs);
  const accepted: string[] = [];
  const check = new HealthCheck({ newSocket, connect } as unknown as Tcp, backends, {
    isAwaited: () => false,
    accepts: (backend) => {
      backends.accepts(backend);
      accepted.push(backend.id);
    },
    foreign: () => undefined,
  });
  const pass = (ms: number): void => {
    for (let left = ms; left > 0; left -= 5) {
      now += 5;
      context.mock.timers.tick(5);
    }
  };
  context.after(() => check.stop());
  return { attempts, backends, check, accepted, pass };
}

const UP = { id: "web-1", port: 3_001, state: "up" } as const;

test("an attempt that gets no answer is given up after 0.1 s and repeated, as often as needed", (context) => {
  const { attempts, check, accepted, pass } = rig(context, [UP]);
  check.wake(true);
  pass(2_000);
  assert.ok(attempts.length >= 10, `${attempts.length} attempts`);
  assert.deepEqual(
    attempts.map(({ isClosed }) => isClosed),
    attempts.map((_, index) => index < attempts.length - 1),
    "only the last one is open",
  );
  attempts[0]?.answer(-125);
  attempts.at(-1)?.answer(0);
  assert.deepEqual(accepted, ["web-1"]);
  const before = attempts.length;
  pass(1_000);
  assert.equal(attempts.length, before, "it has accepted");
});

for (const [what, before, after] of [
  ["port", UP, { ...UP, port: 3_002 }],
  ["process", { ...UP, pid: process.ppid }, { ...UP, pid: process.pid }],
  ["state", UP, { ...UP, state: "down" }],
] as const)
  test(`an attempt under way is dropped when the ${what} of the backend changes, and its answer doesn't count`, (context) => {
    const { attempts, backends, check, accepted } = rig(context, [before]);
    check.wake(true);
    backends.set("round-robin", [after]);
    check.wake(true);
    assert.equal(attempts[0]?.isClosed, true);
    attempts[0]?.answer(0);
    assert.deepEqual(accepted, []);
    if (what !== "state") attempts[1]?.answer(0);
    assert.deepEqual([attempts.length, accepted], what === "state" ? [1, []] : [2, ["web-1"]]);
  });
