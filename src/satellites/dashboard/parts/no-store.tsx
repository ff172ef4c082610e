/** Says that nothing is stored, where lines or curves would be. */
import type { JSX } from "preact";
import { useApp, useObserved } from "./app-context.ts";

export function useIsStored(): boolean {
  const { model } = useApp();
  return useObserved(model.state)?.internalLogHours !== 0;
}

/** `what`: such as `The log`. */
export function NoStoreText({ what }: { readonly what: string }): JSX.Element {
  return (
    <p class="empty">
      {what} isn't stored, because <code>"logger.internalLogHours"</code> is 0 in the configuration. Programs' output is
      in the files and on the console that the configuration names.
    </p>
  );
}
