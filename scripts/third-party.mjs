/** After the build: what licences of bundled packages demand, and their list for scanners, into `dist/`. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT, runCommand } from "./run-command.mjs";

const SBOM_TIMEOUT_MS = 60_000;

/** By their folders, as the bundler has recorded them: of one name there may be several versions. */
const bundled = JSON.parse(readFileSync(join(ROOT, ".cache/bundled.json"), "utf8")).map((path) => {
  const folder = join(ROOT, path);
  return { folder, ...JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) };
});

function noticeOf({ folder, name, version, license, homepage = "" }) {
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying|thirdparty)/i.test(file));
  if (!files.some((file) => /^(licen[cs]e|copying)/i.test(file)))
    throw new Error(`${name} has no file with its licence`);
  const texts = files.map((file) => readFileSync(join(folder, file), "utf8").trim());
  return [`${name} ${version} (${license}) ${homepage}`.trim(), ...texts].join("\n\n");
}

/** CycloneDX by npm, without the packages that are only needed to build. */
async function sbom() {
  const npm = process.env.npm_execpath ? [process.execPath, process.env.npm_execpath] : ["npm"];
  const { ok, output, why } = await runCommand([...npm, "sbom", "--sbom-format", "cyclonedx", "--offline"], {
    timeoutMs: SBOM_TIMEOUT_MS,
  });
  if (!ok) throw new Error(`Cannot list the bundled packages: ${why}\n${output}`);
  // Warnings of npm come before and after it.
  const {
    serialNumber: _number,
    metadata,
    components,
    dependencies,
    ...rest
  } = JSON.parse(output.slice(output.search(/^\{/m), output.search(/^\}/m) + 1));
  const { timestamp: _time, ...about } = metadata;
  const isBundled = new Set(bundled.map(({ name, version }) => `${name}@${version}`));
  const own = components.filter(({ group, name, version }) =>
    isBundled.has(`${group === undefined ? name : `${group}/${name}`}@${version}`),
  );
  const refs = new Set([metadata.component["bom-ref"], ...own.map((each) => each["bom-ref"])]);
  const shipped = own.map(({ scope: _scope, properties: _properties, ...each }) => each);
  const links = dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }));
  // npm takes the name of the folder.
  const component = { ...about.component, name: about.component["bom-ref"].split("@")[0] };
  return { ...rest, metadata: { ...about, component }, components: shipped, dependencies: links };
}

const rule = `\n\n${"-".repeat(80)}\n\n`;
writeFileSync(
  join(ROOT, "dist/THIRD_PARTY_NOTICES"),
  `${["procman contains the following packages.", ...bundled.map(noticeOf)].join(rule)}\n`,
);
writeFileSync(join(ROOT, "dist/sbom.cdx.json"), `${JSON.stringify(await sbom(), undefined, 2)}\n`);
