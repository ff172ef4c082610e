/** The menu with the less likely actions of a process. */
import type { JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type ActionName, hintOf, labelOf } from "../model/action-words.ts";
import { Icon } from "./icons.tsx";

type MoreActionsProps = {
  /** Name of the process or group. */
  readonly name: string;
  readonly hasWords: boolean;
  readonly actions: readonly ActionName[];
  readonly onChoose: (action: ActionName) => void;
};

export function MoreActions({ name, hasWords, actions, onChoose }: MoreActionsProps): JSX.Element | null {
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
  const choose = (action: ActionName): void => {
    setOpen(false);
    onChoose(action);
  };
  if (actions.length === 0) return null;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys are those of the menu inside
    <span ref={place} class="menu-place" onKeyDown={(event) => onMenuKey(event, () => setOpen(false))}>
      <button
        type="button"
        class={hasWords ? "" : "icon-button"}
        aria-label={`More actions for ${name}`}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name="more" />
        {hasWords && "More"}
      </button>
      {isOpen && (
        <div class="menu" role="menu" aria-label={`Actions for ${name}`}>
          {actions.map((action) => (
            <MenuItem key={action} action={action} onChoose={choose} />
          ))}
        </div>
      )}
    </span>
  );
}

/** Its name is the action; the hint describes it. */
function MenuItem({
  action,
  onChoose,
}: Pick<MoreActionsProps, "onChoose"> & { readonly action: ActionName }): JSX.Element {
  const id = useId();
  const hint = hintOf(action);
  return (
    <button
      type="button"
      role="menuitem"
      tabIndex={-1}
      aria-labelledby={`${id}-label`}
      aria-describedby={hint === undefined ? undefined : `${id}-hint`}
      onClick={() => onChoose(action)}
    >
      <span id={`${id}-label`}>{labelOf(action)}</span>
      {hint !== undefined && <small id={`${id}-hint`}>{hint}</small>}
    </button>
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
