/** After the build: the files of the dashboard into `dist/dashboard`, named by their content, compressed, and listed in a manifest. */
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { extname, join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import { ROOT } from "./run-command.mjs";

const TYPES = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };
/** Compressed size of all files together. Bytes. */
const MAX_BYTES = 80_000;

/** `app.js` with its content becomes `app-1a2b3c4d5e.js`. */
export function hashedName(name, content) {
  const hash = createHash("sha256").update(content).digest("hex").slice(0, 10);
  return `${name.slice(0, -extname(name).length)}-${hash}${extname(name)}`;
}

export function compressed(content) {
  const bytes = Buffer.from(content);
  return brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 11,
      [constants.BROTLI_PARAM_LGWIN]: 22,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    },
  });
}

/** Comments and indentation of a style sheet; strings of ours have neither. */
export function withoutComments(css) {
  return css.replace(/\/\*[\s\S]*?\*\//g, "").replace(/\s*\n\s*/g, "\n");
}

/** The files by their names in `dist/dashboard`, and the manifest. `{{NAME}}` in the page stands for the hashed name of an asset. */
export function dashboardFiles(page, sources) {
  const assets = Object.entries(sources).map(([name, content]) => ({
    name,
    hashed: hashedName(name, content),
    content,
  }));
  const html = page.replace(/\{\{([^}]+)\}\}/g, (_, name) => {
    const asset = assets.find((each) => each.name === name);
    if (asset === undefined)
      throw new Error(`Cannot build the dashboard: its page names ${name}, which is not a file of it`);
    return `assets/${asset.hashed}`;
  });
  const manifest = {
    page: "index.html",
    assets: Object.fromEntries(assets.map(({ hashed }) => [hashed, TYPES[extname(hashed)]])),
  };
  const files = new Map([
    ["index.html", compressed(html)],
    ...assets.map(({ hashed, content }) => [hashed, compressed(content)]),
  ]);
  return { files, manifest };
}

function main() {
  const source = join(ROOT, "src/satellites/dashboard");
  const styles = readdirSync(join(source, "style"))
    .filter((name) => name.endsWith(".css"))
    .sort();
  const css = [
    join(ROOT, "node_modules/uplot/dist/uPlot.min.css"),
    ...styles.map((name) => join(source, "style", name)),
  ];
  const { files, manifest } = dashboardFiles(readFileSync(join(source, "index.html"), "utf8"), {
    "app.js": readFileSync(join(ROOT, ".cache/dashboard/app.js"), "utf8"),
    "app.css": withoutComments(css.map((file) => readFileSync(file, "utf8")).join("\n")),
    "icon.svg": readFileSync(join(source, "icon.svg"), "utf8"),
  });
  const size = [...files.values()].reduce((sum, { length }) => sum + length, 0);
  if (size > MAX_BYTES)
    throw new Error(
      `Cannot build the dashboard: its files have ${size} bytes compressed; at most ${MAX_BYTES} are allowed`,
    );
  const folder = join(ROOT, "dist/dashboard");
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, bytes] of files) writeFileSync(join(folder, `${name}.br`), bytes);
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
  console.log(`dashboard: ${files.size} files, ${size} bytes compressed`);
}

if (process.argv[1] === import.meta.filename) main();
