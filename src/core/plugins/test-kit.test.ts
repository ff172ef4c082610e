import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { definePlugin } from "./plugin.ts";
import { testPlugin } from "./test-kit.ts";

const plugin = definePlugin<{ readonly id: string }>({
  name: "stopper",
  version: "1.0.0",
  schema: { type: "object", required: ["id"], properties: { id: { type: "string" } } },
  async setup({ events, control, options, log, signal }) {
    events.on("gap", async ({ lost }) => {
      log.warn(`missed ${lost}`);
      await control.act(options.id, "stop");
    });
    for await (const item of control.follow({}, signal))
      if (item.type === "entry") return void log.info(item.entry.text);
    return () => log.info("over");
  },
});

test("the rig gives a plugin events and lines, and records its log lines and calls", async () => {
  const record = { id: "web", type: "process", status: "running", blocked: false, restarts: 0, reason: "" } as const;
  const starting = testPlugin(
    { ...plugin, setup: (context) => void plugin.setup(context) },
    { options: { id: "web" }, processes: [record] },
  );
  const rig = await starting;
  await rig.emit({ type: "gap", lost: 3 });
  rig.line({ text: "first line" });
  while (rig.said.length < 2) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(rig.asked, [
    ["follow", {}, rig.asked[0]?.[2]],
    ["act", "web", "stop"],
  ]);
  assert.deepEqual(rig.said, [
    { severity: "warn", text: "missed 3" },
    { severity: "info", text: "first line" },
  ]);
  await rig.close();
  assert.ok(!existsSync(rig.folder));
});

test("the rig refuses options that the plugin's schema refuses", async () => {
  await assert.rejects(testPlugin(plugin, { options: {} }), /its options are not valid/);
});

test("what a test leaves out of a record or an event, the rig fills in", async () => {
  const told: unknown[] = [];
  const rig = await testPlugin(
    definePlugin({
      name: "teller",
      version: "1.0.0",
      async setup({ control, events }) {
        told.push(await control.process("web"));
        events.on("process.incident", ({ incident }) => void told.push(incident.process, incident.lines.length));
        events.on("process.state", ({ id, process }) => void told.push(id, process.status, process.restarts));
      },
    }),
    { processes: [{ id: "web", restarts: 3 }] },
  );
  await rig.emit({ type: "process.incident", incident: { process: "mail" } });
  await rig.emit({ type: "process.state", process: { status: "errored" } });
  const web = { id: "web", type: "process", status: "running", blocked: false, restarts: 3, reason: "runs" };
  assert.deepEqual(told, [web, "mail", 0, "1", "errored", 0]);
  await rig.close();
});
