import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { InitNotice } from "./init-notice.ts";

const SOCKET = "/run/systemd/notify";

type Sent = { readonly notice: InitNotice; readonly messages: (readonly string[])[]; stopping: boolean };

function noticeWith(context: TestContext, env: NodeJS.ProcessEnv): Sent {
  context.mock.timers.enable({ apis: ["setInterval"] });
  const messages: (readonly string[])[] = [];
  const sent = { messages, stopping: false } as Sent & { notice: InitNotice };
  sent.notice = new InitNotice(env, {
    isStopping: () => sent.stopping,
    send: (message, socket, done) => {
      assert.equal(socket, SOCKET);
      messages.push(message);
      done();
    },
  });
  return sent;
}

const own = String(process.pid);

test("systemd is told once that the keeper is ready, then three times a period that it is alive", (context) => {
  const { notice, messages } = noticeWith(context, {
    NOTIFY_SOCKET: SOCKET,
    SYSTEMD_EXEC_PID: own,
    WATCHDOG_USEC: "60000000",
    WATCHDOG_PID: own,
  });
  notice.ready();
  notice.ready();
  context.mock.timers.tick(60_000);
  assert.deepEqual(messages, [["READY=1"], ["WATCHDOG=1"], ["WATCHDOG=1"], ["WATCHDOG=1"]]);
});

test("without a watchdog only a stop is reported: it gets more time as long as the keeper lives", (context) => {
  const sent = noticeWith(context, {
    NOTIFY_SOCKET: SOCKET,
    SYSTEMD_EXEC_PID: own,
    WATCHDOG_USEC: "60000000",
    WATCHDOG_PID: "1",
  });
  sent.notice.ready();
  context.mock.timers.tick(60_000);
  sent.stopping = true;
  sent.notice.stopping();
  context.mock.timers.tick(20_000);
  const more = "EXTEND_TIMEOUT_USEC=90000000";
  assert.deepEqual(sent.messages, [["READY=1"], ["STOPPING=1", more], [more]]);
});

test("a socket of a program above is not used; no process inherits the variables in either case", (context) => {
  const env = { NOTIFY_SOCKET: SOCKET, SYSTEMD_EXEC_PID: "1", WATCHDOG_USEC: "1000", WATCHDOG_PID: own, HOME: "/" };
  const { notice, messages } = noticeWith(context, env);
  notice.ready();
  notice.stopping();
  context.mock.timers.tick(60_000);
  assert.deepEqual(messages, []);
  assert.deepEqual(env, { SYSTEMD_EXEC_PID: "1", HOME: "/" });
});
