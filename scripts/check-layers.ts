/**
 * Fails when an import crosses the layers, when files import each other in a circle, when a package leaves its home,
 * when a file is too long, or when a file name says nothing. Usage: check-layers.ts [ROOT]
 */
import { checkLayers, exitCodeOf } from "./layers.ts";

const report = checkLayers(process.argv[2] ?? "src");
const { files, imports, problems } = report;
for (const problem of problems) console.error(problem);
console.log(`${files} files, ${imports} imports, ${problems.length} problems`);
process.exitCode = exitCodeOf(report);
