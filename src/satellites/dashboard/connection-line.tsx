/** Says whether what is shown is true now. */
import type { JSX } from "preact";
import { age } from "../../core/base/quantity.ts";
import { useApp, useNow, useObserved } from "./parts/app-context.ts";

/** Values of processes older than this are called old. Milliseconds. */
const STALE_MS = 15_000;

export function ConnectionLine(): JSX.Element {
  const { model } = useApp();
  const connection = useObserved(model.connection);
  const updated = useObserved(model.updated);
  useNow(1_000);
  const now = Date.now();
  const isStale = updated > 0 && now - updated > STALE_MS;
  const old = updated === 0 ? "" : `; values are ${age(now - updated)} old`;
  if (connection.kind === "lost") {
    const seconds = Math.max(0, Math.ceil((connection.retryAt - now) / 1_000));
    return (
      <span class="connection lost">
        <span role="status">Connection lost</span>, again in {seconds} s{old}
      </span>
    );
  }
  if (connection.kind === "connecting") return <span class="connection">Connecting …</span>;
  return <span class={isStale ? "connection lost" : "connection live"}>{isStale ? `Connected${old}` : "Live"}</span>;
}
