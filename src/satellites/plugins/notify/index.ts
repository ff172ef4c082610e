/** `procman/notify`: tells people of crashes, exhausted restarts, refused growth and recoveries. */
import { hostname } from "node:os";
import { list, map, openObject, string } from "../../../core/base/schema.ts";
import type { StateRecord } from "../../../core/contract/state-record.ts";
import { definePlugin } from "../../../core/plugins/plugin.ts";
import { KINDS, type NotifyOptions, OPTIONS } from "../../../core/plugins/shipped/notify-options.ts";
import { CrashMonitor, type NotifiedState } from "./crash-monitor.ts";
import { MessageBatcher } from "./message-batcher.ts";
import { StateFile } from "./state-file.ts";
import { command, type MessageTarget, webhook } from "./targets.ts";

/** Incidents of each process that are searched for those since the plugin last ran. */
const MOST_INCIDENTS = 100;
const stateSchema = openObject({
  since: string(),
  latest: map(string()),
  down: list(string()),
  exhausted: list(string()),
});

export default definePlugin<NotifyOptions>({
  name: "notify",
  version: "1.0.0",
  schema: OPTIONS,
  async setup({ control, events, options, log, signal, folder, name }) {
    const { on = KINDS, processes = [], groupSeconds = 10, recoveredAfterSeconds = 10 } = options;
    const targets = targetsOf(options, { log, signal, name });
    const file = new StateFile<NotifiedState>(folder, "told");
    const state = file.read(stateSchema) ?? {
      since: beginningOf(await control.state()),
      latest: {},
      down: [],
      exhausted: [],
    };
    let isBroken = false;
    // Only when all messages have arrived: the others are found again among the incidents.
    const save = (): void => {
      if (!isBroken && batchers.every(({ isIdle }) => isIdle)) file.write(monitor.state);
    };
    const send = (target: MessageTarget) => async (message: Parameters<MessageTarget>[0]) => {
      if (!(await target(message))) isBroken = true;
    };
    const source = `${name} on ${hostname()}`;
    const batchers = targets.map(
      (target) => new MessageBatcher({ source, groupMs: groupSeconds * 1_000, send: send(target), onIdle: save }),
    );
    const monitor = new CrashMonitor({
      state,
      kinds: new Set(on),
      processes: new Set(processes),
      recoveredMs: recoveredAfterSeconds * 1_000,
      notify: (event) => batchers.forEach((batcher) => void batcher.add(event)),
    });
    events.on("process.incident", ({ incident }) => monitor.onIncident(incident));
    events.on("process.state", ({ process }) => monitor.onState(process));
    events.on("gap", async () =>
      monitor.begin(await control.processes(), await control.incidents("all", MOST_INCIDENTS)),
    );
    monitor.begin(await control.processes(), await control.incidents("all", MOST_INCIDENTS).catch(() => []));
    save();
    return async () => {
      monitor.close();
      await Promise.all(batchers.map((batcher) => batcher.flush()));
      save();
    };
  },
});

/** The start of the service, or the reload that has added the plugin since: what was before it is no news. */
function beginningOf({ started, lastReload }: StateRecord): string {
  return lastReload !== undefined && lastReload.time > started ? lastReload.time : started;
}

function targetsOf(options: NotifyOptions, delivery: Parameters<typeof webhook>[1]): readonly MessageTarget[] {
  const { webhook: url, command: line, format = "json", headers = {} } = options;
  const targets = [
    ...(url === undefined ? [] : [webhook({ webhook: url, format, headers }, delivery)]),
    ...(line === undefined ? [] : [command(line, delivery)]),
  ];
  if (targets.length === 0) throw new Error('its options have neither "webhook" nor "command"; set one of them');
  return targets;
}
