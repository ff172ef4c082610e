/** The head of a group in the overview: its name, what its processes use together, and actions on all of them. */
import type { JSX } from "preact";
import { size } from "../../../core/base/quantity.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { cpuText, type Tone } from "../model/record-lists.ts";
import { Icon } from "../parts/icons.tsx";
import { ProcessActions } from "../parts/process-actions.tsx";
import { ToneSign } from "../parts/state-badge.tsx";
import { countsOf, type ListedGroup, usageOf } from "./process-list.ts";
import { TONE_NAMES } from "./tone-names.ts";
import type { ShownColumns } from "./view-options.ts";

type GroupRowProps = {
  readonly group: ListedGroup;
  readonly index: number;
  /** undefined: a card, for narrow screens. */
  readonly columns: ShownColumns | undefined;
  readonly onToggle: (key: string) => void;
};

export function GroupRow({ group, index, columns, onToggle }: GroupRowProps): JSX.Element {
  const { name, members, isOpen } = group;
  const counts = countsOf(members);
  const { cpuPercent, memoryBytes } = usageOf(members);
  return (
    <tr class="group-row" aria-rowindex={index + 2} data-group={name ?? ""}>
      <th scope="rowgroup" colSpan={2}>
        <div class="group-head">
          <button
            type="button"
            class={isOpen ? "toggle open" : "toggle"}
            aria-expanded={isOpen}
            aria-label={`Group ${name ?? "of processes without one"}`}
            onClick={() => onToggle(name ?? "")}
          >
            <Icon name="right" />
          </button>
          <b>{name ?? "No group"}</b>
          <span class="tones">
            {(Object.keys(TONE_NAMES) as Tone[]).map(
              (tone) =>
                counts[tone] > 0 && (
                  <span key={tone} title={`${counts[tone]} ${TONE_NAMES[tone]}`}>
                    <ToneSign tone={tone} />
                    {counts[tone]} <span class="words">{TONE_NAMES[tone]}</span>
                  </span>
                ),
            )}
          </span>
          {columns === undefined && (
            <span class="totals">
              {cpuText(cpuPercent)} · {size(memoryBytes)}
            </span>
          )}
        </div>
      </th>
      {columns?.keys.map((key) => (
        <td key={key} class="number muted">
          {key === "cpu" ? cpuText(cpuPercent) : key === "memory" ? size(memoryBytes) : ""}
        </td>
      ))}
      <td class="action-cell">{name !== undefined && <ProcessActions record={recordOf(name, members)} />}</td>
    </tr>
  );
}

/** The group as the API addresses it. */
function recordOf(name: string, members: readonly ProcessRecord[]): ProcessRecord {
  const statuses = new Set(members.map(({ status }) => status));
  const [status = "created"] = statuses;
  return {
    id: `group:${name}`,
    type: "group",
    status: statuses.size === 1 ? status : "mixed",
    blocked: members.every(({ blocked }) => blocked),
    restarts: 0,
    reason: "",
    instances: members,
  };
}
