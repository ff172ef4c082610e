/** Carries out an action, and says what became of it. */
import type { ProcessRecord } from "../../../core/contract/records.ts";
import { type ActionName, labelOf } from "../model/action-words.ts";
import { statusText } from "../model/record-lists.ts";
import type { AppParts } from "./app-context.ts";

/** Until it has come true; it goes on after that. Seconds. */
const WAIT_SECONDS = 60;

export type ActOrder = { readonly action: ActionName; readonly id: string; readonly instances?: number };

/** Never rejects: a refusal is shown. */
export async function act({ model, notices }: AppParts, { action, id, instances }: ActOrder): Promise<void> {
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
