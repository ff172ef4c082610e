/** Which rows of a long table are in view, so that only these are in the document. */
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** Rows above and below the view. */
const MARGIN = 10;
/** Shorter tables are shown whole. */
const WHOLE_ROWS = 60;

export type RowRange = { readonly from: number; readonly to: number };

/** `body`: the element with the rows, all `height` high, somewhere in the scrolled page. */
export function useRowWindow(body: RefObject<HTMLElement | null>, count: number, height: number): RowRange {
  const [range, setRange] = useState<RowRange>({ from: 0, to: WHOLE_ROWS });
  useEffect(() => {
    if (count <= WHOLE_ROWS) return undefined;
    const look = (): void => {
      const top = -(body.current?.getBoundingClientRect().top ?? 0);
      const from = Math.max(0, Math.floor(top / height) - MARGIN);
      const to = Math.ceil((top + innerHeight) / height) + MARGIN;
      setRange((before) => (before.from === from && before.to === to ? before : { from, to }));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [body, count, height]);
  return count <= WHOLE_ROWS ? { from: 0, to: count } : { from: Math.min(range.from, count), to: Math.min(range.to, count) };
}
