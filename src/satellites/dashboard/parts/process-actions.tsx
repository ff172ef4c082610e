/** The buttons of a process or group: the likely actions, and a menu with the others. What interrupts asks first. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { SIGNALS } from "../../../core/base/signals.ts";
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { type ActionName, actionsFor, labelOf, nameOf, wordsFor } from "../model/action-words.ts";
import { hashOf } from "../model/page-address.ts";
import { statusText } from "../model/record-lists.ts";
import { type AppParts, useApp, useRights } from "./app-context.ts";
import { ConfirmDialog } from "./dialogs.tsx";
import { Icon, type IconName } from "./icons.tsx";
import { MoreActions } from "./more-actions.tsx";

const ICONS: Readonly<Partial<Record<ActionName, IconName>>> = { start: "start", stop: "stop", restart: "restart" };

type ProcessActionsProps = {
  readonly record: ProcessRecord;
  /** The likely actions have words beside their signs. */
  readonly hasWords?: boolean;
};

/** For a token that may only look: the log alone. */
export function ProcessActions({ record, hasWords = false }: ProcessActionsProps): JSX.Element {
  const { mayControl } = useRights();
  const [asked, setAsked] = useState<ActionName>();
  const app = useApp();
  const actions = mayControl ? actionsFor(record) : [];
  const name = nameOf(record);
  const choose = (action: ActionName): void => {
    if (wordsFor(action, record, []).interrupts) setAsked(action);
    else void act(app, { action, record });
  };
  return (
    <span class="actions">
      {actions
        .filter((action) => ICONS[action] !== undefined)
        .map((action) => (
          <button
            key={action}
            type="button"
            class={hasWords ? "" : "icon-button"}
            title={labelOf(action)}
            aria-label={`${labelOf(action)} ${name}`}
            onClick={() => choose(action)}
          >
            <Icon name={ICONS[action] ?? "more"} />
            {hasWords && labelOf(action)}
          </button>
        ))}
      {record.type !== "group" && <LogLink id={record.id} hasWords={hasWords} />}
      {mayControl && (
        <MoreActions
          name={name}
          hasWords={hasWords}
          actions={actions.filter((action) => ICONS[action] === undefined)}
          onChoose={choose}
        />
      )}
      {asked !== undefined && <ActionDialog action={asked} record={record} onClose={() => setAsked(undefined)} />}
    </span>
  );
}

function LogLink({ id, hasWords }: { readonly id: string; readonly hasWords: boolean }): JSX.Element {
  const href = hashOf("logs", { process: id });
  if (hasWords)
    return (
      <a class="button" href={href}>
        <Icon name="log" />
        Log
      </a>
    );
  return (
    <a class="icon-button" href={href} title="Log" aria-label={`Log of ${id}`}>
      <Icon name="log" />
    </a>
  );
}

type ActionDialogProps = { readonly action: ActionName; readonly record: ProcessRecord; readonly onClose: () => void };

function ActionDialog({ action, record, onClose }: ActionDialogProps): JSX.Element {
  const app = useApp();
  const { label, question, effects } = wordsFor(action, record, app.model.processes.value ?? []);
  const [instances, setInstances] = useState(record.instances?.length ?? 1);
  const [signal, setSignal] = useState<string>("SIGHUP");
  return (
    <ConfirmDialog
      title={question}
      confirm={label}
      isDangerous={action === "stop"}
      onConfirm={() => void act(app, { action, record, instances, signal })}
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
      {action === "signal" && (
        <label class="field">
          Signal
          <select value={signal} onChange={({ currentTarget }) => setSignal(currentTarget.value)}>
            {SIGNALS.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      )}
    </ConfirmDialog>
  );
}

/** Until it has come true; it goes on after that. Seconds. */
const WAIT_SECONDS = 60;

type ActOrder = {
  readonly action: ActionName;
  readonly record: ProcessRecord;
  readonly instances?: number;
  readonly signal?: string;
};

/** Carries out an action, and says what became of it. Never rejects: a refusal is shown. */
async function act({ model, notices }: AppParts, order: ActOrder): Promise<void> {
  const [name, label] = [nameOf(order.record), labelOf(order.action)];
  try {
    const record = await asked(model.client, order);
    notices.say(
      order.action === "signal"
        ? `${order.signal} was sent to ${name}.`
        : `${label} of ${name}: done, it is ${statusText(record)}.`,
    );
  } catch (error) {
    notices.refuse((error as Error).message);
  } finally {
    void model.refresh();
  }
}

function asked(client: AppParts["model"]["client"], order: ActOrder): Promise<ProcessRecord> {
  const { action, instances = 1, signal = "" } = order;
  const { id } = order.record;
  const options = { waitSeconds: WAIT_SECONDS };
  if (action === "signal") return client.signal(id, { signal });
  if (action === "scale") return client.scale(id, { instances }, options);
  if (action === "hard-restart") return client.act(id, "restart", { ...options, hard: true });
  return client.act(id, action, options);
}
