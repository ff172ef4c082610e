/** Fails when a regular expression of the source may be slow on some text. Usage: check-expressions.ts [ROOT] */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { checkExpressions } from "./expressions.ts";

/** What was found to be fast, by the version of recheck. */
const CACHE = ".cache/expressions.json";

const { version } = JSON.parse(readFileSync("node_modules/recheck/package.json", "utf8"));
const known = existsSync(CACHE) ? JSON.parse(readFileSync(CACHE, "utf8")) : {};
const proven = new Set<string>(known.version === version ? known.literals : []);
const { expressions, problems } = checkExpressions(process.argv[2] ?? "src", proven);
mkdirSync(".cache", { recursive: true });
writeFileSync(CACHE, JSON.stringify({ version, literals: [...proven] }));
for (const problem of problems) console.error(problem);
console.log(`${expressions} expressions, ${problems.length} problems`);
process.exitCode = problems.length === 0 && expressions > 0 ? 0 : 1;
