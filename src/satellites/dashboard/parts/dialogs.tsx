/** Dialogs that ask before something is interrupted. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

type ConfirmDialogProps = {
  readonly title: string;
  readonly confirm: string;
  readonly isDangerous?: boolean;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
};

/** Open as long as it is rendered; Escape closes it. The focus is inside, and goes back to where it was. */
export function ConfirmDialog({
  title,
  confirm,
  isDangerous = false,
  onConfirm,
  onClose,
  children,
}: ConfirmDialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  const submit = (event: Event): void => {
    event.preventDefault();
    onConfirm();
    onClose();
  };
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="dialog-title">
      <form onSubmit={submit}>
        <h2 id="dialog-title">{title}</h2>
        {children}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class={isDangerous ? "danger" : "primary"}>
            {confirm}
          </button>
        </div>
      </form>
    </dialog>
  );
}
