/** `npm run unit [-- FILE or FOLDER …]`: the tests that need no build and no other program, or those that are named. */
import { REAL, runTests, UNIT } from "./node-tests.mjs";

const named = process.argv.slice(2);
const { ok, why } = await runTests(named.length > 0 ? named : [...UNIT, ...REAL], { timeoutMs: 300_000, show: true });
if (!ok) console.error(why);
process.exit(ok ? 0 : 1);
