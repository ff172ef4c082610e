/** What is seen on the terminal of a process. */
import type { JsonSchema } from "../base/schema.ts";

/** `begun`: what follows is from this run. `data`: bytes in base64. `over`: the run has ended; another one may begin. */
export type ScreenItem =
  | { readonly type: "begun"; readonly run: number }
  | { readonly type: "output"; readonly data: string }
  | { readonly type: "over"; readonly run: number };

const run = (type: "begun" | "over", description: string): JsonSchema => ({
  type: "object",
  required: ["type", "run"],
  properties: { type: { type: "string", const: type }, run: { type: "integer", description } },
});

export const SCREEN_ITEM: JsonSchema = {
  description: "What is seen on the terminal of a process.",
  oneOf: [
    run("begun", "Number of the run from which the output comes that follows."),
    {
      type: "object",
      required: ["type", "data"],
      properties: {
        type: { type: "string", const: "output" },
        data: { type: "string", description: "Bytes in base64. A character may be cut." },
      },
    },
    run("over", "Number of the run that has ended. When another one begins, the stream goes on."),
  ],
};
