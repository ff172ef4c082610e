/** What the keeper starts as the service: loads `main.ts` by way of its compiled code. */
import { join } from "node:path";
import { runCompiled } from "../os/compiled.ts";

runCompiled(join(__dirname, "service-main.cjs"));
