/** Type errors and floating promises. TypeScript reads the program once, for its own check and for eslint's. */
import { join } from "node:path";
import { ESLint } from "eslint";
import ts from "typescript";
import { ROOT } from "./run-command.mjs";

const host = {
  ...ts.sys,
  getCurrentDirectory: () => ROOT,
  getCanonicalFileName: (file) => file,
  getNewLine: () => "\n",
};

/** procman, and its dashboard for browsers. */
const CONFIGURATIONS = ["tsconfig.json", "src/dashboard/tsconfig.json"];

function readProgram(file) {
  const onUnRecoverableConfigFileDiagnostic = (problem) => {
    throw new Error(ts.formatDiagnostic(problem, host));
  };
  const config = ts.getParsedCommandLineOfConfigFile(join(ROOT, file), {}, { ...ts.sys, onUnRecoverableConfigFileDiagnostic });
  return ts.createProgram({ rootNames: config.fileNames, options: config.options, configFileParsingDiagnostics: config.errors });
}

async function floatingPromises(programs) {
  const overrideConfig = { files: ["**/*.{ts,tsx}"], languageOptions: { parserOptions: { programs } } };
  const eslint = new ESLint({ cwd: ROOT, overrideConfig });
  const results = await eslint.lintFiles(["src", "scripts", "test"]);
  const formatter = await eslint.loadFormatter("stylish");
  const problems = results.reduce((sum, { errorCount, warningCount }) => sum + errorCount + warningCount, 0);
  return { files: results.length, problems, text: await formatter.format(results) };
}

const programs = CONFIGURATIONS.map(readProgram);
const types = programs.flatMap((program) => ts.getPreEmitDiagnostics(program));
if (types.length > 0) console.error(ts.formatDiagnostics(types, host));
const promises = await floatingPromises(programs);
if (promises.problems > 0) console.error(promises.text);
console.log(`${promises.files} files, ${types.length + promises.problems} problems`);
process.exitCode = types.length + promises.problems === 0 && promises.files > 0 ? 0 : 1;
