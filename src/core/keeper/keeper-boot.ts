/** What the bin loads for `procman run`: `main.ts`, through the code cache. */
import { join } from "node:path";
import { runCached } from "../os/code-cache.ts";

/** After a start, and before `node-tuning` changes flags. */
const WRITE_AFTER_MS = 700;

runCached(join(__dirname, "keeper-main.cjs"), WRITE_AFTER_MS);
