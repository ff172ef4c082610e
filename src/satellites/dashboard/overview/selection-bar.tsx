/** Below the table while processes are selected: their number, and actions on all of them. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { countText, dependentsText, labelOf } from "../model/action-words.ts";
import { type AppParts, useApp } from "../parts/app-context.ts";
import { ConfirmDialog } from "../parts/dialogs.tsx";
import { Icon } from "../parts/icons.tsx";
import { ScrollArea } from "../parts/scroll-area.tsx";
import { COMMON_ACTIONS, type CommonAction, isTarget, targetsOf } from "./row-selection.ts";

type SelectionBarProps = {
  readonly selected: readonly ProcessRecord[];
  /** Number of rows that could be selected. */
  readonly total: number;
  readonly onAll: () => void;
  readonly onNone: () => void;
};

export function SelectionBar({ selected, total, onAll, onNone }: SelectionBarProps): JSX.Element {
  const [asked, setAsked] = useState<CommonAction>();
  useEscape(onNone);
  return (
    <section class="selection-bar" aria-label="Selected processes">
      <b role="status">{selected.length} selected</b>
      {COMMON_ACTIONS.map((action) => (
        <button
          key={action}
          type="button"
          disabled={!selected.some((record) => isTarget(action, record))}
          onClick={() => setAsked(action)}
        >
          <Icon name={action} />
          {labelOf(action)}
        </button>
      ))}
      <button type="button" class="quiet" onClick={onAll}>
        Select all {total}
      </button>
      <button type="button" class="icon-button" aria-label="Select none" title="Select none (Escape)" onClick={onNone}>
        <Icon name="close" />
      </button>
      {asked !== undefined && (
        <CommonDialog action={asked} selected={selected} onDone={onNone} onClose={() => setAsked(undefined)} />
      )}
    </section>
  );
}

/** Escape takes all rows out again, unless it closes a dialog or empties an input. */
function useEscape(onNone: () => void): void {
  useEffect(() => {
    const onKey = ({ key, target }: KeyboardEvent): void => {
      const isTyping = target instanceof HTMLInputElement && target.type !== "checkbox";
      if (key === "Escape" && !isTyping && document.querySelector("dialog[open]") === null) onNone();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, [onNone]);
}

type CommonDialogProps = {
  readonly action: CommonAction;
  readonly selected: readonly ProcessRecord[];
  readonly onDone: () => void;
  readonly onClose: () => void;
};

/** Names all that it is about. */
function CommonDialog({ action, selected, onDone, onClose }: CommonDialogProps): JSX.Element {
  const app = useApp();
  const targets = targetsOf(action, selected);
  const rest = selected.length - targets.length;
  const ids = new Set(targets.map(({ id }) => id));
  const [dependents] = action === "start" ? [] : dependentsText(ids, app.model.processes.value ?? []);
  const confirm = (): void => {
    void actOnAll(app, action, targets);
    onDone();
  };
  return (
    <ConfirmDialog
      title={`${labelOf(action)}: ${countText(targets.length, "process")}?`}
      confirm={labelOf(action)}
      isDangerous={action === "stop"}
      onConfirm={confirm}
      onClose={onClose}
    >
      <ScrollArea name="Processes" className="names">
        <ul>
          {targets.map(({ id, instances }) => (
            <li key={id}>
              <code>{id}</code>
              {instances !== undefined && <span class="muted"> {instances.length} instances</span>}
            </li>
          ))}
        </ul>
      </ScrollArea>
      {rest > 0 && <p>{rest === 1 ? "1 other one is left as it is." : `${rest} others are left as they are.`}</p>}
      {dependents !== undefined && <p>{dependents}</p>}
    </ConfirmDialog>
  );
}

/** Requests at a time: a browser opens few connections to a host, and two are for what comes live. */
const LANES = 3;

/** Asks for the action on each; what becomes of it is in the rows. Never rejects: refusals are shown together. */
async function actOnAll(
  { model, notices }: AppParts,
  action: CommonAction,
  targets: readonly ProcessRecord[],
): Promise<void> {
  const refusals: string[] = [];
  const waiting = targets.values();
  const lane = async (): Promise<void> => {
    for (const { id } of waiting)
      await model.client.act(id, action).catch((error: unknown) => void refusals.push((error as Error).message));
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const [first = ""] = refusals;
  const done = targets.length - refusals.length;
  if (done > 0) notices.say(`${labelOf(action)} of ${countText(done, "process")}: requested.`);
  if (refusals.length > 0) notices.refuse(refusals.length === 1 ? first : `${refusals.length} are refused: ${first}`);
  void model.refresh();
}
