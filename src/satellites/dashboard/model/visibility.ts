/** Whether somebody may look at the page: a browser has six connections for all tabs of an origin, so hidden tabs give theirs up. */

/** A page that is hidden for a moment keeps its streams. Milliseconds. */
const REST_MS = 30_000;

export type VisibilityHandlers = {
  /** The page has been hidden for a while. */
  readonly rest: () => void;
  /** Called when the page is visible again. `hasRested`: after `rest`. */
  readonly wake: (hasRested: boolean) => void;
};

/** Returns the function that ends this. */
export function watchVisibility({ rest, wake }: VisibilityHandlers): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let hasRested = false;
  const look = (): void => {
    clearTimeout(timer);
    if (document.hidden) {
      timer = setTimeout(() => {
        hasRested = true;
        rest();
      }, REST_MS);
      return;
    }
    wake(hasRested);
    hasRested = false;
  };
  document.addEventListener("visibilitychange", look);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}
