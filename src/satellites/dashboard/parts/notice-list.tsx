/** Messages about what was asked for. */
import type { JSX } from "preact";
import { useApp, useObserved } from "./app-context.ts";
import { Icon } from "./icons.tsx";

export function NoticeList(): JSX.Element {
  const { notices } = useApp();
  const list = useObserved(notices.list);
  return (
    <div class="notices" role="status">
      {list.map(({ key, text, isBad }) => (
        <div key={key} class={isBad ? "notice bad" : "notice"}>
          <p>{text}</p>
          <button type="button" class="icon-button" aria-label="Close this message" onClick={() => notices.close(key)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
