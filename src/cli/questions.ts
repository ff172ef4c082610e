/** Questions at the terminal. */
import { createInterface } from "node:readline/promises";
import { ProcmanError } from "../base/errors.ts";

export type Question = {
  readonly text: string;
  /** Taken for an empty answer; without one the question is asked again. */
  readonly default?: string;
  /** Why an answer won't do; undefined when it will. */
  readonly refuse?: (answer: string) => string | undefined;
};

export type Terminal = { readonly input: NodeJS.ReadableStream; readonly output: NodeJS.WritableStream };

/**
 * Asks one after the other; undefined once the input ends (Ctrl-D).
 *
 * @throws {ProcmanError} `interrupted`: Ctrl-C.
 */
export async function ask(questions: readonly Question[], { input, output }: Terminal): Promise<readonly string[] | undefined> {
  const lines = createInterface({ input, output });
  const ended = new Promise<undefined>((resolve, reject) => {
    lines.once("close", () => resolve(undefined));
    lines.once("SIGINT", () => {
      output.write("\n");
      reject(new ProcmanError("interrupted", "Cannot go on: Ctrl-C was pressed; nothing is written"));
    });
  });
  try {
    const answers: string[] = [];
    for (const question of questions) {
      const answer = await answerTo(question, (text) => Promise.race([lines.question(text), ended]), output);
      if (answer === undefined) return undefined;
      answers.push(answer);
    }
    return answers;
  } finally {
    lines.close();
  }
}

async function answerTo(
  question: Question,
  read: (text: string) => Promise<string | undefined>,
  output: NodeJS.WritableStream,
): Promise<string | undefined> {
  const prompt = `${question.text}${question.default === undefined ? "" : ` (${question.default})`}: `;
  for (;;) {
    const written = await read(prompt);
    if (written === undefined) return undefined;
    const answer = written.trim() || question.default;
    const reason = answer === undefined ? "An answer is needed" : question.refuse?.(answer);
    if (answer !== undefined && reason === undefined) return answer;
    output.write(`${reason}.\n`);
  }
}
