/** Fails when a folder has no README, or a file or a type has the name of another. Usage: check-house.ts [ROOT] */
import { checkHouse } from "./house.ts";

const { folders, problems } = checkHouse(process.argv[2] ?? "src");
for (const problem of problems) console.error(problem);
console.log(`${folders} folders, ${problems.length} problems`);
// No folder at all means that the wrong one was named.
process.exitCode = problems.length === 0 && folders > 0 ? 0 : 1;
