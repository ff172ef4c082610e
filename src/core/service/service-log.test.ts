import assert from "node:assert/strict";
import { test } from "node:test";
import { specsOf } from "../../../test/support/service-fakes.ts";
import type { ToKeeper } from "../ipc/keeper-protocol.ts";
import { info } from "./log-line.ts";
import { ServiceLog } from "./service-log.ts";

test("lines of an instance are found by its cluster, lines of a further slot by its process", () => {
  const sent: ToKeeper[] = [];
  const link = { sendLater: (message: ToKeeper) => void sent.push(message), sendInOrder: () => assert.fail() };
  const log = new ServiceLog(link, { instanceOf: (slot) => (slot === "web-2" ? 2 : undefined) });
  log.write("web-2", info("started"));
  log.audit(info("stop"), "web-2");
  log.write("job:3", info("started"), 7);
  log.info("own");
  assert.deepEqual(
    sent.map((message) =>
      message.t === "logger" && message.message.t === "say" ? { ...message.message, at: 0 } : message,
    ),
    [
      { t: "say", at: 0, severity: "info", text: "started", id: "web-2", instance: 2 },
      { t: "say", at: 0, severity: "info", text: "stop", category: "api", id: "web-2", instance: 2 },
      { t: "say", at: 0, severity: "info", text: "started", id: "job", run: 7 },
      { t: "say", at: 0, severity: "info", text: "own" },
    ],
  );
});

test("a problem with a log file of a process is known until the file, or another logger, works", () => {
  const log = new ServiceLog({ sendLater: () => undefined, sendInOrder: () => undefined }, specsOf([]));
  const spec = (stdout: string, stderr?: string) => ({
    log: { console: false, decorateFiles: false, stdout, ...(stderr && { stderr }) },
  });
  const fail = (file: string): void =>
    log.relay({ t: "problem", file, code: "ENOSPC", message: `Cannot write ${file}: full` });
  for (const file of ["/a.log", "/b.log"]) fail(file);
  assert.deepEqual(
    [spec("/a.log"), spec("/c.log", "/b.log"), spec("/c.log")].map((each) => log.problemOf(each)),
    ["Cannot write /a.log: full", "Cannot write /b.log: full", undefined],
  );
  log.relay({ t: "recovered", file: "/a.log", lostLines: 0, lostBytes: 0 });
  assert.deepEqual(
    [log.problemOf(spec("/a.log")), log.problemOf(spec("/b.log"))],
    [undefined, "Cannot write /b.log: full"],
  );
  log.relay({ t: "ready", version: "1" });
  assert.equal(log.problemOf(spec("/b.log")), undefined);
});
