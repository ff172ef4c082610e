/**
 * Fails when an import crosses the layers, when files import each other in a circle, when a package leaves its home,
 * when a file is too long, or when a file name says nothing. Usage: check-layers.ts [ROOT]
 */
import { checkLayers } from "./layers.ts";

const { files, imports, problems } = checkLayers(process.argv[2] ?? "src");
for (const problem of problems) console.error(problem);
console.log(`${files} files, ${imports} imports, ${problems.length} problems`);
// No file at all means that the wrong folder was named.
process.exitCode = problems.length === 0 && files > 0 ? 0 : 1;
