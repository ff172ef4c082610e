/**
 * Type errors and floating promises, in the files that are affected by changes since the last check without problems
 * (.cache/types; all files without it). TypeScript reads the program once, for its own check and for eslint's.
 */
import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
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
const CONFIGURATIONS = ["tsconfig.json", "src/satellites/dashboard/tsconfig.json"];

const CACHE = join(ROOT, ".cache/types");

const LINTED = /^(src|scripts|test)\/.*\.tsx?$/;

/** What else the outcome depends on. TypeScript itself sees changes of its options and of all files that it reads. */
const RULES = createHash("sha256")
  .update(readFileSync(join(ROOT, "eslint.config.js")))
  .update(readFileSync(join(ROOT, "package-lock.json")))
  .digest("hex");

function readProgram(file) {
  const onUnRecoverableConfigFileDiagnostic = (problem) => {
    throw new Error(ts.formatDiagnostic(problem, host));
  };
  const config = ts.getParsedCommandLineOfConfigFile(
    join(ROOT, file),
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic },
  );
  const tsBuildInfoFile = join(CACHE, RULES.slice(0, 16), `${file.replaceAll("/", "-")}.tsbuildinfo`);
  const options = { ...config.options, incremental: true, tsBuildInfoFile };
  const builder = ts.createIncrementalProgram({
    rootNames: config.fileNames,
    options,
    configFileParsingDiagnostics: config.errors,
    host: ts.createIncrementalCompilerHost(options),
    createProgram: ts.createSemanticDiagnosticsBuilderProgram,
  });
  const linted = new Set(config.fileNames.filter((file) => LINTED.test(relative(ROOT, file))));
  if (linted.size === 0) throw new Error(`${file} has no file for eslint`);
  return { builder, files: affectedFiles(builder).filter((file) => linted.has(file)) };
}

/** The changed files, and all that import them. Checks the types of the changed files on the way. */
function affectedFiles(builder) {
  const changed = new Set();
  for (
    let next = builder.getSemanticDiagnosticsOfNextAffectedFile();
    next;
    next = builder.getSemanticDiagnosticsOfNextAffectedFile()
  )
    changed.add(next.affected.fileName);
  const sources = changed.size === 0 ? [] : builder.getSourceFiles();
  return sources
    .filter((source) => builder.getAllDependencies(source).some((file) => changed.has(file)))
    .map(({ fileName }) => fileName);
}

function typeErrors({ builder }) {
  return [
    ...builder.getConfigFileParsingDiagnostics(),
    ...builder.getOptionsDiagnostics(),
    ...builder.getGlobalDiagnostics(),
    ...builder.getSyntacticDiagnostics(),
    ...builder.getSemanticDiagnostics(),
  ];
}

async function floatingPromises(programs) {
  const parserOptions = { programs: programs.map(({ builder }) => builder.getProgram()) };
  const eslint = new ESLint({
    cwd: ROOT,
    overrideConfig: { files: ["**/*.{ts,tsx}"], languageOptions: { parserOptions } },
  });
  const files = programs.flatMap((program) => program.files);
  const results = files.length === 0 ? [] : await eslint.lintFiles(files);
  const formatter = await eslint.loadFormatter("stylish");
  const problems = results.reduce((sum, { errorCount, warningCount }) => sum + errorCount + warningCount, 0);
  return { files: results.length, problems, text: await formatter.format(results) };
}

const programs = CONFIGURATIONS.map(readProgram);
const types = programs.flatMap(typeErrors);
if (types.length > 0) console.error(ts.formatDiagnostics(types, host));
const promises = await floatingPromises(programs);
if (promises.problems > 0) console.error(promises.text);
console.log(`${promises.files} files, ${types.length + promises.problems} problems`);
const isRight = types.length + promises.problems === 0;
// What has problems is looked at again.
if (isRight) {
  rmSync(CACHE, { recursive: true, force: true });
  for (const { builder } of programs) builder.emit();
}
process.exitCode = isRight ? 0 : 1;
