/** Pictures on buttons; their names are those of the buttons. */
import type { JSX } from "preact";

const PATHS = {
  start: "M5 3.5v9l7.5-4.5z",
  stop: "M4 4h8v8H4z",
  restart: "M12.7 6A5 5 0 1 0 13 8.6M13 2.8V6H9.8",
  more: "M8 3.2v.1M8 8v.1M8 12.8v.1",
  gap: "M1.5 11h3M11.5 5h3M8 2.5v6.5M8 12.3v.2",
  close: "M4 4l8 8M12 4l-8 8",
  search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.3 10.3 14 14",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  wrap: "M2 4h12M2 8h9a2 2 0 0 1 0 4H8M9.5 10.4 8 12l1.5 1.6M2 12h3",
  copy: "M6 5.5h7v8H6zM10 5.5v-3H3v8h3",
  download: "M8 2v8M4.8 7 8 10.2 11.2 7M3 13.5h10",
  log: "M3 3.5h10M3 6.5h10M3 9.5h7M3 12.5h9",
} as const;

const FILLED: ReadonlySet<string> = new Set(["start", "stop"]);

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { readonly name: IconName }): JSX.Element {
  return (
    <svg class={FILLED.has(name) ? "icon filled" : "icon"} viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
