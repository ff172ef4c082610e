/** What the bin loads for `procman run`: `main.ts` by way of its compiled code. */
import { join } from "node:path";
import { runCompiled } from "../os/compiled.ts";

/** Before flags are changed, and after a start. Milliseconds. */
const KEEP_AFTER_MS = 700;

runCompiled(join(__dirname, "keeper-main.cjs"), { schedule: (keep) => setTimeout(keep, KEEP_AFTER_MS).unref() });
