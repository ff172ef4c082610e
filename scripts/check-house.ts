/** Fails when a folder has no README, or a file or a type has the name of another. Usage: check-house.ts [ROOT] */
import { checkHouse, exitCodeOf } from "./house.ts";

const report = checkHouse(process.argv[2] ?? "src");
const { folders, problems } = report;
for (const problem of problems) console.error(problem);
console.log(`${folders} folders, ${problems.length} problems`);
process.exitCode = exitCodeOf(report);
