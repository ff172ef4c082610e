/** `npm run check`: the gate alone. */
import { endWithNpm } from "./end-with-npm.mjs";
import { runGate } from "./gate.mjs";

endWithNpm();
const { failed } = await runGate();
process.exit(failed === 0 ? 0 : 1);
