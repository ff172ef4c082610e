/** The buttons of a process: the likely actions, and a menu with the others. What interrupts asks first. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { type ActionName, actionsFor, labelOf, wordsFor } from "../model/action-words.ts";
import { statusText } from "../model/record-lists.ts";
import { type AppParts, useApp, useRights } from "./app-context.ts";
import { ConfirmDialog } from "./dialogs.tsx";
import { Icon, type IconName } from "./icons.tsx";

const ICONS: Readonly<Partial<Record<ActionName, IconName>>> = { start: "start", stop: "stop", restart: "restart" };

/** Nothing for a token that may only look. */
export function ProcessActions({ record }: { readonly record: ProcessRecord }): JSX.Element | null {
  const { mayControl } = useRights();
  const [asked, setAsked] = useState<ActionName>();
  const app = useApp();
  if (!mayControl) return null;
  const actions = actionsFor(record);
  const choose = (action: ActionName): void => {
    if (wordsFor(action, record, []).interrupts) setAsked(action);
    else void act(app, { action, id: record.id });
  };
  return (
    <span class="actions">
      {actions
        .filter((action) => ICONS[action] !== undefined)
        .map((action) => (
          <button
            key={action}
            type="button"
            class="icon-button"
            title={labelOf(action)}
            aria-label={`${labelOf(action)} ${record.id}`}
            onClick={() => choose(action)}
          >
            <Icon name={ICONS[action] ?? "more"} />
          </button>
        ))}
      <MoreActions id={record.id} actions={actions.filter((action) => ICONS[action] === undefined)} onChoose={choose} />
      {asked !== undefined && <ActionDialog action={asked} record={record} onClose={() => setAsked(undefined)} />}
    </span>
  );
}

type MoreActionsProps = {
  readonly id: string;
  readonly actions: readonly ActionName[];
  readonly onChoose: (action: ActionName) => void;
};

function MoreActions({ id, actions, onChoose }: MoreActionsProps): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    if (isOpen) place.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
  }, [isOpen]);
  useEffect(() => {
    if (!isOpen) return undefined;
    const close = (event: Event): void => {
      if (!place.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener("pointerdown", close);
    return () => removeEventListener("pointerdown", close);
  }, [isOpen]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the menu inside
    <span ref={place} class="menu-place" onKeyDown={(event) => onMenuKey(event, () => setOpen(false))}>
      <button
        type="button"
        class="icon-button"
        aria-label={`More actions for ${id}`}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="more" />
      </button>
      {isOpen && (
        <div class="menu" role="menu" aria-label={`Actions for ${id}`}>
          {actions.map((action) => (
            <button
              key={action}
              type="button"
              role="menuitem"
              tabIndex={-1}
              onClick={() => {
                setOpen(false);
                onChoose(action);
              }}
            >
              {labelOf(action)}
            </button>
          ))}
        </div>
      )}
    </span>
  );
}

function onMenuKey(event: KeyboardEvent, close: () => void): void {
  const place = event.currentTarget as HTMLElement;
  const items = [...place.querySelectorAll<HTMLElement>("[role=menuitem]")];
  if (items.length === 0) return;
  const at = items.indexOf(document.activeElement as HTMLElement);
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    items[(at + (event.key === "ArrowDown" ? 1 : items.length - 1)) % items.length]?.focus();
    event.preventDefault();
  } else if (event.key === "Escape" || event.key === "Tab") {
    close();
    place.querySelector<HTMLElement>("button")?.focus();
  }
  event.stopPropagation();
}

type ActionDialogProps = { readonly action: ActionName; readonly record: ProcessRecord; readonly onClose: () => void };

function ActionDialog({ action, record, onClose }: ActionDialogProps): JSX.Element {
  const app = useApp();
  const { label, question, effects } = wordsFor(action, record, app.model.processes.value ?? []);
  const [instances, setInstances] = useState(record.instances?.length ?? 1);
  const order = { action, id: record.id, ...(action === "scale" ? { instances } : {}) };
  return (
    <ConfirmDialog
      title={question}
      confirm={label}
      isDangerous={action === "stop"}
      onConfirm={() => void act(app, order)}
      onClose={onClose}
    >
      {effects.map((effect) => (
        <p key={effect}>{effect}</p>
      ))}
      {action === "scale" && (
        <label class="field">
          Instances
          <input
            type="number"
            min={1}
            max={1024}
            required
            value={instances}
            onInput={({ currentTarget }) => setInstances(currentTarget.valueAsNumber)}
          />
        </label>
      )}
    </ConfirmDialog>
  );
}

/** Until it has come true; it goes on after that. Seconds. */
const WAIT_SECONDS = 60;

type ActOrder = { readonly action: ActionName; readonly id: string; readonly instances?: number };

/** Carries out an action, and says what became of it. Never rejects: a refusal is shown. */
async function act({ model, notices }: AppParts, { action, id, instances }: ActOrder): Promise<void> {
  try {
    const record = await asked(model.client, { action, id, ...(instances === undefined ? {} : { instances }) });
    notices.say(`${labelOf(action)} of ${id}: done, it is ${statusText(record)}.`);
  } catch (error) {
    notices.refuse((error as Error).message);
  } finally {
    void model.refresh();
  }
}

function asked(client: AppParts["model"]["client"], { action, id, instances = 1 }: ActOrder): Promise<ProcessRecord> {
  const options = { waitSeconds: WAIT_SECONDS };
  if (action === "scale") return client.scale(id, { instances }, options);
  if (action === "hard-restart") return client.act(id, "restart", { ...options, hard: true });
  return client.act(id, action, options);
}
