/** As `test/faults/campaign.test.ts`, with the same moments each time. */
import { testCampaign } from "../faults/campaign/campaign-test.ts";

for (const seed of [1, 2, 3]) testCampaign(seed);
