/** `Control` for a limited token: every answer, event and error without the processes that it doesn't see. */
import { ProcmanError } from "../base/errors.ts";
import type { Control } from "../contract/control.ts";
import type { EventRecord } from "../contract/event-record.ts";
import type { ProcessRecord } from "../contract/records.ts";
import type { TokenView } from "./view.ts";

/** `control` finds only the processes of the view. */
export function limitedControl(control: Control, view: TokenView): Control {
  const seen = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await answer;
    } catch (error) {
      throw view.error(error);
    }
  };
  const record = async (answer: Promise<ProcessRecord>): Promise<ProcessRecord> => view.record(await seen(answer));
  return {
    ...REFUSED,
    processes: async () => (await seen(control.processes())).map((each) => view.record(each)),
    process: (id) => record(control.process(id)),
    state: async () => withoutOthers(await seen(control.state())),
    act: (...request) => record(control.act(...request)),
    scale: (...request) => record(control.scale(...request)),
    signal: (...request) => record(control.signal(...request)),
    input: (...request) => seen(control.input(...request)),
    screen: (...query) => followed(() => control.screen(...query), view),
    logs: (query) => seen(control.logs(query)),
    follow: (...query) => followed(() => control.follow(...query), view),
    log: async (submission) => seen(control.log(ofProcess(submission))),
    telemetry: (report) => seen(control.telemetry(report)),
    metrics: (...query) => seen(control.metrics(...query)),
    incidents: async (...query) => (await seen(control.incidents(...query))).map((incident) => view.incident(incident)),
    runs: async (...query) => {
      const page = await seen(control.runs(...query));
      return { ...page, runs: page.runs.map((run) => view.run(run)) };
    },
    prometheus: () => seen(control.prometheus()),
    events: (...query) => followed(() => counted(control, control.events(...query), view), view),
  };
}

/** These concern all processes, or show command lines, which may have secrets. The API has refused them already: they need the scope `admin`. */
const REFUSED = {
  definitions: () => refused("show it"),
  plan: () => refused("plan a reload"),
  reload: () => refused("reload"),
  history: () => refused("read the history"),
  historyEntry: () => refused("read the history"),
  diff: () => refused("read the history"),
  rollback: () => refused("roll back"),
  releases: () => refused("list releases"),
  deploy: () => refused("deploy"),
  deployment: () => refused("show a deployment"),
  rollout: () => refused("show a rollout"),
  joinRollout: () => refused("take part in a rollout"),
  stepRollout: () => refused("take part in a rollout"),
  terminate: () => refused("terminate"),
  flush: () => refused("flush the logs"),
};

function refused(what: string): Promise<never> {
  return Promise.reject(new ProcmanError("scope-missing", `Cannot ${what}: the token is limited to some processes`));
}

/** Plugins watch all processes; a reload may name any of them, a rollout is of others. */
function withoutOthers<State extends { readonly [Name in "plugins" | "lastReload" | "rollout"]?: unknown }>({
  plugins: _plugins,
  lastReload: _lastReload,
  rollout: _rollout,
  ...state
}: State): Omit<State, "plugins" | "lastReload" | "rollout"> {
  return state;
}

function ofProcess<Submission extends { readonly process?: string }>(submission: Submission): Submission {
  if (submission.process !== undefined) return submission;
  throw new ProcmanError(
    "process-foreign",
    'Cannot log: the token is limited to some processes; name one of them as "process"',
  );
}

/** The items of a stream; what fails is said without the processes that the token doesn't see. */
async function* followed<Item>(open: () => AsyncIterable<Item>, view: TokenView): AsyncGenerator<Item> {
  try {
    yield* open();
  } catch (error) {
    throw view.error(error);
  }
}

/** The state in an event counts all processes; this one counts those of the view. */
async function* counted(
  control: Control,
  events: AsyncIterable<EventRecord>,
  view: TokenView,
): AsyncGenerator<EventRecord> {
  for await (const event of events) {
    const seen = view.event(event);
    if (seen?.type === "service.state")
      yield { ...seen, state: { ...withoutOthers(seen.state), processes: (await control.state()).processes } };
    else if (seen !== undefined) yield seen;
  }
}
