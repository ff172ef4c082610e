/** A button that opens a panel with choices; a click elsewhere or Escape closes it. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "./icons.tsx";

type PickerProps = { readonly summary: string; readonly className?: string; readonly children: ComponentChildren };

export function Picker({ summary, className = "", children }: PickerProps): JSX.Element {
  const place = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event): void => {
      if (place.current?.open && !place.current.contains(event.target as Node)) place.current.open = false;
    };
    addEventListener("pointerdown", close);
    return () => removeEventListener("pointerdown", close);
  }, []);
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || place.current === null) return;
    place.current.open = false;
    place.current.querySelector("summary")?.focus();
  };
  return (
    <details ref={place} class={`picker ${className}`} onKeyDown={onKey}>
      <summary>
        <span>{summary}</span>
        <Icon name="down" />
      </summary>
      {children}
    </details>
  );
}
