/** What the edited configuration file changes, and the reload that does it. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { PlannedChange, PlanRecord } from "../../../core/contract/plan.ts";
import type { ReloadRecord } from "../../../core/contract/state-record.ts";
import { allOf } from "../model/record-lists.ts";
import { useApp, useNow, useObserved } from "../parts/app-context.ts";
import { ConfirmDialog } from "../parts/dialogs.tsx";
import { Moment } from "../parts/moments.tsx";
import { ScrollArea } from "../parts/scroll-area.tsx";
import { StateBadge } from "../parts/state-badge.tsx";
import { HistoryList } from "./history-list.tsx";

/** How often the file is looked at. Milliseconds. */
const EVERY_MS = 5_000;
/** Until the reload is done; it goes on after that. */
const WAIT_SECONDS = 600;

type PlanAnswer = { readonly plan?: PlanRecord; readonly problem?: string };

export function PlanPage(): JSX.Element {
  const { model, notices } = useApp();
  const [answer, setAnswer] = useState<PlanAnswer>({});
  const [isAsked, setAsked] = useState(false);
  /** The plan that is being carried out. */
  const [applied, setApplied] = useState<PlanRecord>();
  usePlan(applied === undefined, setAnswer);
  const reload = async (): Promise<void> => {
    setApplied(answer.plan);
    try {
      await model.client.reload({ waitSeconds: WAIT_SECONDS });
      notices.say("Reloaded: everything is as planned.");
    } catch (error) {
      notices.refuse((error as Error).message);
    } finally {
      setApplied(undefined);
      void model.refresh();
    }
  };
  const plan = applied ?? answer.plan;
  return (
    <>
      <h1>Changes</h1>
      <LastReload />
      {answer.problem !== undefined && <FileProblem text={answer.problem} />}
      {plan !== undefined && <PlanView plan={plan} isRunning={applied !== undefined} onReload={() => setAsked(true)} />}
      <HistoryList />
      {isAsked && plan !== undefined && (
        <ReloadDialog plan={plan} onConfirm={() => void reload()} onClose={() => setAsked(false)} />
      )}
    </>
  );
}

const RESULTS: Readonly<Record<ReloadRecord["result"], string>> = {
  running: "is under way",
  done: "was applied",
  "rolled-back": "was rolled back",
};
const CLOCK_MS = 5_000;

/** When the file was applied last, who asked for it, and what became of it. */
function LastReload(): JSX.Element | null {
  const { model } = useApp();
  const state = useObserved(model.state);
  const now = useNow(CLOCK_MS);
  if (state === undefined) return null;
  const { lastReload } = state;
  if (lastReload === undefined) return <p class="muted">No reload since procman was started.</p>;
  const { time, why, result, problem } = lastReload;
  return (
    <p class={result === "rolled-back" ? "problem" : "muted"}>
      Last reload <Moment time={time} now={now} />, {why}: it {RESULTS[result]}.{problem !== undefined && ` ${problem}`}
    </p>
  );
}

function usePlan(isActive: boolean, onAnswer: (answer: PlanAnswer) => void): void {
  const { model } = useApp();
  useEffect(() => {
    if (!isActive) return undefined;
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async (): Promise<void> => {
      const answer = document.hidden ? undefined : await model.client.plan().then((plan) => ({ plan }), problemOf);
      if (isOver) return;
      if (answer !== undefined) onAnswer(answer);
      timer = setTimeout(() => void ask(), EVERY_MS);
    };
    void ask();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [model, isActive, onAnswer]);
}

/** The message has all problems of the file, each with its place and a code frame. */
function problemOf(error: unknown): PlanAnswer {
  return { problem: error instanceof Error ? error.message : String(error) };
}

function FileProblem({ text }: { readonly text: string }): JSX.Element {
  return (
    <section aria-labelledby="file-problem">
      <h2 id="file-problem">The file can't be applied</h2>
      <ScrollArea name="Problems of the file" className="lines bad">
        <pre>{text}</pre>
      </ScrollArea>
      <p>Running processes are not affected. This page reads the file every few seconds.</p>
    </section>
  );
}

const FEW_WARNINGS = 3;
const UNCHANGED = "unchanged";

/** As `procman plan` lists it: also what is added or removed without a start or stop now. */
function isChanged({ reason }: PlannedChange): boolean {
  return reason !== UNCHANGED;
}

function processesText(count: number): string {
  return count === 1 ? "1 process" : `${count} processes`;
}

type PlanViewProps = { readonly plan: PlanRecord; readonly isRunning: boolean; readonly onReload: () => void };

function PlanView({ plan, isRunning, onReload }: PlanViewProps): JSX.Element {
  const changes = plan.processes.filter(isChanged);
  const unchanged = plan.processes.length - changes.length;
  const isEmpty = changes.length === 0 && plan.settings.length === 0;
  return (
    <>
      <p class="file">
        {plan.configFile}
        {plan.profile === undefined ? "" : `, profile ${plan.profile}`}
      </p>
      <WarningList warnings={plan.warnings} />
      {isEmpty ? (
        <p class="empty">No changes: the running configuration matches the file ({processesText(unchanged)}).</p>
      ) : (
        <>
          <ChangeTable changes={changes} />
          <SettingList plan={plan} />
          {unchanged > 0 && <p class="muted">{processesText(unchanged)} unchanged.</p>}
          <div class="buttons left">
            <button type="button" class="primary" disabled={isRunning} onClick={onReload}>
              {isRunning ? "Reloading …" : "Reload"}
            </button>
          </div>
        </>
      )}
    </>
  );
}

/** Folded if they would hide the changes. */
function WarningList({ warnings }: Pick<PlanRecord, "warnings">): JSX.Element | null {
  if (warnings.length === 0) return null;
  return (
    <details class="warnings" open={warnings.length <= FEW_WARNINGS}>
      <summary>
        {warnings.length === 1 ? "1 warning about the file" : `${warnings.length} warnings about the file`}
      </summary>
      <ul>
        {warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    </details>
  );
}

function ChangeTable({ changes }: { readonly changes: readonly PlannedChange[] }): JSX.Element | null {
  const { model } = useApp();
  const records = new Map(allOf(useObserved(model.processes) ?? []).map((record) => [record.id, record]));
  if (changes.length === 0) return null;
  return (
    <ScrollArea name="Planned changes">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Process</th>
            <th scope="col">What happens</th>
            <th scope="col">Why</th>
            <th scope="col">Now</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ process, action, reason, rolling, problem }) => {
            const record = records.get(process);
            return (
              <tr key={process}>
                <th scope="row">{process}</th>
                <td>
                  <b class={`plan-${action}`}>{action}</b>
                  {rolling ? ", rolling" : ""}
                </td>
                <td>
                  {reason}
                  {problem === undefined ? "" : `; ${problem}`}
                </td>
                <td>{record === undefined ? "–" : <StateBadge record={record} />}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </ScrollArea>
  );
}

function SettingList({ plan: { settings } }: { readonly plan: PlanRecord }): JSX.Element | null {
  if (settings.length === 0) return null;
  return (
    <ul class="settings">
      {settings.map(({ field, takesEffect }) => (
        <li key={field}>
          <code>{field}</code>{" "}
          {takesEffect === "in-place"
            ? "takes effect at once"
            : "takes effect when procman is terminated and run again"}
        </li>
      ))}
    </ul>
  );
}

type ReloadDialogProps = { readonly plan: PlanRecord; readonly onConfirm: () => void; readonly onClose: () => void };

function ReloadDialog({ plan, onConfirm, onClose }: ReloadDialogProps): JSX.Element {
  const count = (action: PlannedChange["action"]): number =>
    plan.processes.filter((each) => each.action === action).length;
  const parts = (["start", "restart", "stop", "in-place"] as const)
    .filter((action) => count(action) > 0)
    .map((action) => `${action}: ${count(action)}`);
  const others = plan.processes.filter((each) => each.action === "none" && isChanged(each)).length;
  return (
    <ConfirmDialog title="Reload the configuration file?" confirm="Reload" onConfirm={onConfirm} onClose={onClose}>
      <p>{parts.length === 0 ? "No running process is affected." : `Processes to ${parts.join(", ")}.`}</p>
      {others > 0 && <p>Added or removed without a start or stop now: {others}.</p>}
      <p>All or nothing: if an instance of a cluster doesn't come up, everything is rolled back.</p>
    </ConfirmDialog>
  );
}
