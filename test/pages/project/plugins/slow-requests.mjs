// Reads the output of a process and warns of slow requests. In TypeScript, or for types by JSDoc:
// import { definePlugin } from "procman/plugin"; export default definePlugin({ … });
export default {
  name: "slow-requests",
  version: "1.0.0",
  schema: {
    type: "object",
    required: ["process"],
    properties: { process: { type: "string" }, overMs: { type: "number", minimum: 0 } },
    additionalProperties: false,
  },
  setup({ control, options, log, signal }) {
    const { process, overMs = 100 } = options;
    const watch = async () => {
      for await (const item of control.follow({ processes: [process], search: "took", limit: 1 }, signal)) {
        if (item.type === "gap") log.warn(`${item.bytes} bytes of output were deleted before they could be read`);
        else if (Number(/took (\d+) ms/.exec(item.entry.text)?.[1]) > overMs) log.warn(`slow: ${item.entry.text}`);
      }
    };
    void watch();
  },
};
