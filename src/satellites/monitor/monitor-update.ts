/** The next model after an input, and what is to be done. */
import { inView, onKey, withRows } from "./key-commands.ts";
import { scrolled, withItems } from "./log-lines.ts";
import { layoutOf } from "./monitor-layout.ts";
import { EMPTY_LOG, type Mode, type MonitorInput, type MonitorModel, type Step } from "./monitor-model.ts";
import { withSamples, withStored } from "./usage-history.ts";

type InputOf<Type extends MonitorInput["type"]> = MonitorInput & { readonly type: Type };

export function update(model: MonitorModel, input: MonitorInput): Step {
  if (input.type === "key") return onKey(model, input.key);
  if (input.type === "incident") return onIncident(model, input);
  return { model: changed(model, input), effects: [] };
}

function changed(
  model: MonitorModel,
  input: Exclude<MonitorInput, InputOf<"key"> | InputOf<"incident">>,
): MonitorModel {
  switch (input.type) {
    case "resize":
      return resized({ ...model, size: input.size });
    case "tick":
      return ticked(model, input.now);
    case "connection":
      return connected(model, input);
    case "service":
      return named(model, input);
    case "processes":
      return withProcesses(model, input);
    case "history":
      return withHistory(model, input);
    case "log-begin":
      return { ...model, log: { ...EMPTY_LOG, search: model.log.search, id: input.id } };
    case "log":
      return input.id === model.log.id ? { ...model, log: withItems(model.log, input.items) } : model;
    case "log-problem":
      return { ...model, log: { ...EMPTY_LOG, search: model.log.search, id: input.id, problem: input.problem } };
    case "detail":
      return inDetail(model, input.id, { answer: input.answer });
    case "detail-problem":
      return inDetail(model, input.id, { problem: input.problem });
    case "notice":
      return { ...model, notice: input.notice };
  }
}

function onIncident(model: MonitorModel, { incident }: InputOf<"incident">): Step {
  const { mode } = model;
  const shown = mode.name === "detail" ? model.rows.find(({ id }) => id === mode.id) : undefined;
  const ids = [shown?.id, ...(shown?.instances ?? []).map(({ id }) => id)];
  const isShown = mode.name === "detail" && ids.includes(incident.process);
  return { model, effects: isShown ? [{ type: "inspect", id: mode.id }] : [] };
}

function resized(model: MonitorModel): MonitorModel {
  const { logRows } = layoutOf(model);
  const focus = logRows === 0 ? "table" : model.focus;
  return inView({ ...model, focus, log: scrolled(model.log, 0, logRows) });
}

function ticked(model: MonitorModel, now: number): MonitorModel {
  const { notice, ...rest } = model;
  return notice?.until !== undefined && now >= notice.until ? { ...rest, now } : { ...model, now };
}

/** Says that it was away, and for how long: what the user saw meanwhile was old. */
function connected(model: MonitorModel, { connection, now }: InputOf<"connection">): MonitorModel {
  const { connection: before } = model;
  if (connection.state === "lost" && before.state === "lost" && model.records.length > 0)
    return { ...model, now, connection: { ...connection, since: before.since } };
  if (connection.state !== "open" || before.state !== "lost" || model.name === "") return { ...model, now, connection };
  const seconds = ((now - before.since) / 1_000).toFixed(1);
  const text = `Reconnected after ${seconds} s`;
  return { ...model, now, connection, notice: { text, isProblem: false, until: now + 8_000 } };
}

function named(model: MonitorModel, { name, profile, machine = model.machine }: InputOf<"service">): MonitorModel {
  const { profile: _profile, ...rest } = model;
  return { ...rest, name, ...(profile !== undefined && { profile }), ...(machine && { machine }) };
}

function withProcesses(model: MonitorModel, { records, now }: InputOf<"processes">): MonitorModel {
  return withRows({ ...model, records, now, updated: now, histories: withSamples(model.histories, records, now) });
}

function withHistory(model: MonitorModel, { id, points }: InputOf<"history">): MonitorModel {
  const history = model.histories.get(id);
  if (history === undefined) return model;
  return { ...model, histories: new Map(model.histories).set(id, withStored(history, points)) };
}

function inDetail(model: MonitorModel, id: string, found: Partial<Mode & { readonly name: "detail" }>): MonitorModel {
  const { mode } = model;
  return mode.name === "detail" && mode.id === id ? { ...model, mode: { ...mode, ...found } } : model;
}
