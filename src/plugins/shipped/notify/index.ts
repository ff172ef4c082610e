/** `procman/notify`: tells people of crashes, exhausted restarts and recoveries. */
import { hostname } from "node:os";
import { list, map, openObject, string } from "../../../base/schema.ts";
import { definePlugin } from "../../plugin.ts";
import { CrashMonitor, type NotifiedState } from "./crash-monitor.ts";
import { MessageBatcher } from "./message-batcher.ts";
import { KINDS, type NotifyOptions, OPTIONS } from "./options.ts";
import { StateFile } from "./state-file.ts";
import { command, type MessageTarget, webhook } from "./targets.ts";

/** What happened while nobody watched is looked for among so many incidents of each process. */
const MOST_INCIDENTS = 100;
const toldSchema = openObject({ since: string(), latest: map(string()), down: list(string()), exhausted: list(string()) });

export default definePlugin<NotifyOptions>({
  name: "notify",
  version: "1.0.0",
  schema: OPTIONS,
  async setup({ control, events, options, log, signal, folder, name }) {
    const { on = KINDS, processes = [], groupSeconds = 10, recoveredAfterSeconds = 10 } = options;
    const targets = targetsOf(options, { log, signal, name });
    const book = new StateFile<NotifiedState>(folder, "told");
    const told = book.read(toldSchema) ?? { since: (await control.state()).started, latest: {}, down: [], exhausted: [] };
    let isBroken = false;
    // Only when all has arrived: what has not is found again among the incidents.
    const note = (): void => {
      if (!isBroken && boxes.every(({ isIdle }) => isIdle)) book.write(watchman.told);
    };
    const send = (target: MessageTarget) => async (message: Parameters<MessageTarget>[0]) => {
      if (!(await target(message))) isBroken = true;
    };
    const whose = `${name} on ${hostname()}`;
    const boxes = targets.map((target) => new MessageBatcher({ whose, groupMs: groupSeconds * 1_000, send: send(target), idle: note }));
    const watchman = new CrashMonitor({
      ...{ told, kinds: new Set(on), processes: new Set(processes), recoveredMs: recoveredAfterSeconds * 1_000 },
      tell: (happening) => boxes.forEach((box) => void box.add(happening)),
    });
    events.on("process.incident", ({ incident }) => watchman.onIncident(incident));
    events.on("process.state", ({ process }) => watchman.onState(process));
    events.on("gap", async () => watchman.begin(await control.processes(), await control.incidents("all", MOST_INCIDENTS)));
    watchman.begin(await control.processes(), await control.incidents("all", MOST_INCIDENTS).catch(() => []));
    note();
    return async () => {
      watchman.close();
      await Promise.all(boxes.map((box) => box.flush()));
      note();
    };
  },
});

function targetsOf(options: NotifyOptions, delivery: Parameters<typeof webhook>[1]): readonly MessageTarget[] {
  const { webhook: url, command: line, format = "json", headers = {} } = options;
  const targets = [
    ...(url === undefined ? [] : [webhook({ webhook: url, format, headers }, delivery)]),
    ...(line === undefined ? [] : [command(line, delivery)]),
  ];
  if (targets.length === 0) throw new Error('neither "webhook" nor "command" is among its options; write one of them');
  return targets;
}
