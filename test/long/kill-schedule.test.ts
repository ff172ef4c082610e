/** As `test/faults/kill-schedule.test.ts`, with the same moments each time. */
import { testSeed } from "../faults/seeded-kills.ts";

for (const seed of [1, 2, 3]) testSeed(seed);
