/** An area that scrolls by itself, so it can be focused: without a mouse, arrow keys scroll it. */
import type { ComponentChildren, JSX } from "preact";

type ScrollAreaProps = { readonly name: string; readonly className?: string; readonly children: ComponentChildren };

export function ScrollArea({ name, className = "scroll", children }: ScrollAreaProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard (WCAG 2.1.1)
    <section class={className} tabIndex={0} aria-label={name}>
      {children}
    </section>
  );
}
