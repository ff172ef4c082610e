/** What the line above the keys says: an input, a question, a result, or where the selection is. */
import { isTyping, type MonitorModel } from "./monitor-model.ts";

export function statusText(model: MonitorModel): string {
  const { mode, notice, connection } = model;
  if (mode.name === "input") return `${mode.target === "filter" ? "Filter: " : "Search: "}${mode.text}`;
  if (mode.name === "send" && isTyping(model)) return `${mode.id}> ${mode.text}`;
  if (mode.name === "confirm") return `${mode.question.text} [y/N]`;
  if (notice !== undefined) return notice.text;
  if (connection.state === "lost" && connection.why !== undefined) return connection.why;
  return mode.name === "list" ? choiceText(model) : "";
}

function choiceText({ choice: { sort, isReversed, filter }, rows, records, selected }: MonitorModel): string {
  const total = records.reduce((sum, { instances = [] }) => sum + 1 + instances.length, 0);
  const position = rows.findIndex(({ id }) => id === selected) + 1;
  const order = sort === "trouble" && !isReversed ? [] : [`sorted by ${sort}${isReversed ? ", reversed" : ""}`];
  const shown = filter === "" ? [] : [`only "${filter}": ${rows.length} of ${total}`];
  // In a narrow table, the reason of the selected process has no room in its row.
  const reason = position > 0 ? [rows[position - 1]?.reason ?? ""] : [];
  return [`${position} of ${rows.length}`, ...order, ...shown, ...reason].join(" · ");
}
