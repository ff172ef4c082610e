/** Which rows of a long table are in view. */
import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { RowHeights } from "../model/row-heights.ts";

/** Rows above and below the view. */
const MARGIN = 10;
/** Shorter tables are shown whole. */
const WHOLE_ROWS = 60;

type RowRange = { readonly from: number; readonly to: number };

/** Only these rows are in the document. `body`: the element with the rows, somewhere in the scrolled page. */
export function useRowWindow(body: RefObject<HTMLElement | null>, heights: RowHeights, count: number): RowRange {
  const [range, setRange] = useState<RowRange>({ from: 0, to: WHOLE_ROWS });
  useEffect(() => {
    if (count <= WHOLE_ROWS) return undefined;
    const look = (): void => {
      const top = -(body.current?.getBoundingClientRect().top ?? 0);
      const from = Math.max(0, heights.at(top) - MARGIN);
      const to = Math.max(0, heights.at(top + innerHeight)) + 1 + MARGIN;
      setRange((before) => (before.from === from && before.to === to ? before : { from, to }));
    };
    look();
    addEventListener("scroll", look, { passive: true });
    addEventListener("resize", look);
    return () => {
      removeEventListener("scroll", look);
      removeEventListener("resize", look);
    };
  }, [body, heights, count]);
  if (count <= WHOLE_ROWS) return { from: 0, to: count };
  const to = Math.min(range.to, count);
  return { from: Math.min(range.from, to), to };
}
