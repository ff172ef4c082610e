/** What components find without being given it. */
import { createContext } from "preact";
import { useContext, useEffect, useState } from "preact/hooks";
import type { LiveModel } from "../model/live-model.ts";
import type { Notices } from "../model/notices.ts";
import type { Observable } from "../model/observable.ts";
import { allows, type Session, type TabSession } from "../model/session.ts";

export type AppParts = {
  readonly model: LiveModel;
  readonly session: Session;
  readonly tab: TabSession;
  readonly notices: Notices;
};

export const AppContext = createContext<AppParts | undefined>(undefined);

export function useApp(): AppParts {
  const parts = useContext(AppContext);
  if (parts === undefined) throw new Error("This component is outside of the dashboard");
  return parts;
}

/** The value, kept up to date. */
export function useObserved<Value>(observable: Observable<Value>): Value {
  const [, setVersion] = useState(0);
  useEffect(() => observable.listen(() => setVersion((version) => version + 1)), [observable]);
  return observable.value;
}

/** procman's time, at each interval. Milliseconds since 1970. */
export function useNow(intervalMs: number): number {
  const { model } = useApp();
  const [now, setNow] = useState(() => model.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(model.now()), intervalMs);
    return () => clearInterval(timer);
  }, [model, intervalMs]);
  // Until procman's first answer the clock of the browser stands for procman's, and may be hours off.
  const present = model.now();
  return Math.abs(present - now) > 2 * intervalMs ? present : now;
}

/** Whether the token may do what needs these scopes. */
export function useRights(): {
  readonly mayControl: boolean;
  readonly mayType: boolean;
  readonly mayAdministrate: boolean;
} {
  const { tab } = useApp();
  return { mayControl: allows(tab, "control"), mayType: allows(tab, "input"), mayAdministrate: allows(tab, "admin") };
}
