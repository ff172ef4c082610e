/** As `test/model/rollout.model.test.ts`, with more operations at a time. */
import { checkRollouts } from "../model/rollout-model.ts";

checkRollouts([4, 5, 8, 10], 3);
