/** `send`: types into a process. */
import { boolean, integer, object, optional, string } from "../../../core/base/schema.ts";
import { READS, type Tool, tool } from "../tool.ts";
import { ID } from "../tool-fields.ts";

export const sendTool: Tool = tool({
  name: "send",
  title: "Type into a process",
  description:
    'Types a line into a process or an instance that has "stdin": true or "tty": true in the configuration: writes the text and a line end to its standard input. What the program answers is in its output. Into a shell this runs a command: ask the user before.',
  input: object({
    id: ID,
    text: string({ maxLength: 65_536, description: "The text, without the line end." }),
    raw: optional(boolean({ description: "Add no line end." })),
  }),
  output: { bytes: integer({ description: "How many bytes it has got." }) },
  annotations: { ...READS, readOnlyHint: false, destructiveHint: true, idempotentHint: false },
  needs: ["input"],
  call: async ({ id, text, raw = false }, { connect }) => {
    const { process, bytes } = await (await connect()).input(id, { text: raw ? text : `${text}\n` });
    return {
      data: { bytes },
      text: `${process} got ${bytes} bytes.`,
      next: `Call "logs" for ${process} to see what it answers.`,
    };
  },
});
