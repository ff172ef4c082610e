/** The line below the log of a process that takes input: Enter sends it, the arrow keys bring earlier ones back. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { InputQueue } from "../../../client/input-queue.ts";
import { useApp } from "../parts/app-context.ts";

/** Lines that the arrow keys bring back. */
const KEPT = 100;

export function InputLine({ id }: { readonly id: string }): JSX.Element {
  const { send, recall, problem } = useInput(id);
  const [text, setText] = useState("");
  const submit = (event: Event): void => {
    event.preventDefault();
    send([text]);
    setText("");
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== "ArrowUp" && event.key !== "ArrowDown") return;
    event.preventDefault();
    setText(recall(event.key === "ArrowUp" ? 1 : -1));
  };
  // The field would join them.
  const onPaste = (event: ClipboardEvent): void => {
    const lines = `${text}${event.clipboardData?.getData("text/plain") ?? ""}`.split(/\r\n|\r|\n/);
    const rest = lines.pop() ?? "";
    if (lines.length === 0) return;
    event.preventDefault();
    send(lines);
    setText(rest);
  };
  return (
    <form class="input-line" onSubmit={submit}>
      <input
        type="text"
        aria-label={`Input for ${id}`}
        placeholder={`Type a line for ${id}`}
        autoComplete="off"
        autoCapitalize="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={onKeyDown}
        onPaste={onPaste}
      />
      <button type="submit">Send</button>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
    </form>
  );
}

type LineInput = {
  readonly send: (lines: readonly string[]) => void;
  /** An older line (1), a newer one (-1); behind the newest, an empty one. */
  readonly recall: (by: 1 | -1) => string;
  /** Why the last line was refused, or waits. */
  readonly problem: string | undefined;
};

function useInput(id: string): LineInput {
  const { client } = useApp().model;
  const [problem, setProblem] = useState<string>();
  const [history, setHistory] = useState<{ readonly lines: readonly string[]; readonly at: number }>(NO_LINES);
  const queue = useMemo(() => {
    const full = `${id} doesn't read its input; what you send waits until it does`;
    return new InputQueue(client, id, (isFull) => setProblem(isFull ? full : undefined));
  }, [client, id]);
  const sendOne = async (line: string): Promise<void> => {
    try {
      await queue.send(`${line}\n`);
    } catch (error) {
      void queue.drop();
      setProblem((error as Error).message);
    }
  };
  const send = (lines: readonly string[]): void => {
    setProblem(undefined);
    setHistory({ lines: [...history.lines, ...lines.filter((line) => line !== "")].slice(-KEPT), at: 0 });
    for (const line of lines) void sendOne(line);
  };
  const recall = (by: 1 | -1): string => {
    const at = Math.max(0, Math.min(history.at + by, history.lines.length));
    setHistory({ ...history, at });
    return history.lines[history.lines.length - at] ?? "";
  };
  return { send, recall, problem };
}

const NO_LINES = { lines: [], at: 0 } as const;
