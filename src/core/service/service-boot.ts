/** What the keeper starts as the service: loads `main.ts` with its code cache. */
import { join } from "node:path";
import { runCached } from "../os/code-cache.ts";

/** The code cache is written this long after the start, before `node-tuning` changes flags. Milliseconds. */
const WRITE_AFTER_MS = 700;

runCached(join(__dirname, "service-main.cjs"), WRITE_AFTER_MS);
