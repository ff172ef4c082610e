/** The documentation agrees with commands, files and errors; its configurations are valid. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { test } from "node:test";
import { Command } from "commander";
import { parse } from "jsonc-parser";
import { metricFamilies } from "../../scripts/metric-families.ts";
import { anchorOf } from "../../site/anchor.mjs";
import { MERGED, MOVED, redirectTo } from "../../site/moved.mjs";
import { NAVIGATION } from "../../site/navigation.mjs";
import { COMMANDS, defineCommand, isCommand } from "../../src/cli/commands.ts";
import { check } from "../../src/core/config/load.ts";
import { SCHEMAS } from "../../src/core/contract/record-schemas.ts";
import { STATUSES } from "../../src/core/contract/records.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const PAGES = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true, encoding: "utf8" }).flatMap((name) =>
    name.endsWith(".md") ? [`docs/${name}`] : [],
  ),
];

function textOf(page: string): string {
  return readFileSync(join(ROOT, page), "utf8");
}

function anchorsOf(page: string): readonly string[] {
  return [...textOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading));
}

test("each link between pages leads to a file, and to a heading in it", () => {
  for (const page of PAGES)
    for (const [, target = ""] of textOf(page).matchAll(/\]\((?!\w+:)([^)\s]+)\)/g)) {
      const [path = "", anchor] = target.split("#");
      const file = path === "" ? page : join(dirname(page), path);
      assert.ok(existsSync(join(ROOT, file)), `${page} links to ${target}, which does not exist`);
      if (anchor !== undefined)
        assert.ok(anchorsOf(file).includes(anchor), `${page} links to ${target}, which has no such heading`);
    }
});

test("in the npm package, too, each link leads to a file; pictures are left out of it", () => {
  const [packed] = JSON.parse(
    execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { cwd: ROOT, encoding: "utf8" }),
  ) as [{ readonly files: readonly { readonly path: string }[] }];
  const files = packed.files.map(({ path }) => path);
  assert.ok(files.length > 40);
  assert.ok(!files.some((file) => file.startsWith("docs/images/")));
  for (const page of files.filter((path) => path.endsWith(".md")))
    for (const [, target = ""] of textOf(page).matchAll(/(?<!!\[[^\]]*)\]\((?!\w+:|#)([^)\s#]+)/g)) {
      const path = join(dirname(page), target).replace(/\/$/, "");
      assert.ok(
        files.some((file) => file === path || file.startsWith(`${path}/`)),
        `${page} links to ${target}, which is not in the package`,
      );
    }
});

test("each path of a page in the source, in tests, scripts and examples leads to a page", () => {
  const files = ["src", "test", "scripts", "bench", "examples", "docker"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => /\.(ts|mts|mjs|md|yaml)$/.test(name) && !name.includes("node_modules"))
      .map((name) => `${folder}/${name}`),
  );
  assert.ok(files.length > 500);
  const missing = files.flatMap((file) =>
    [...textOf(file).matchAll(/(?<![\w.]\/)\bdocs\/[\w/-]+\.md\b/g)].flatMap(([page]) =>
      existsSync(join(ROOT, page)) ? [] : [`${file}: ${page}`],
    ),
  );
  assert.deepEqual(missing, []);
});

test("llms.txt lists each page with its first sentence", () => {
  execFileSync(process.execPath, ["--import", "tsx", "scripts/llms.ts", "--check"], { cwd: ROOT, stdio: "pipe" });
});

test("the index of the docs has each page", () => {
  const index = textOf("docs/README.md");
  const missing = PAGES.filter(
    (page) => page.startsWith("docs/") && page !== "docs/README.md" && !index.includes(`](${page.slice(5)})`),
  );
  assert.deepEqual(missing, []);
});

test("each address of a page in 1.0.0 leads on: by a table in the index, by a page on the site", () => {
  const [, formerly = ""] = textOf("docs/README.md").split("## Formerly");
  for (const name of MOVED.keys()) assert.match(formerly, new RegExp(`\\b${name}\\b`), `${name} is not in the table`);
});

test("each old address of a page leads to a page that exists, and to a heading in it", () => {
  for (const [name, target] of [...MOVED, ...MERGED]) {
    const [page = "", anchor] = target.split("#");
    const file = `docs/${page}.md`;
    assert.ok(existsSync(join(ROOT, file)), `${name} leads to ${target}, which does not exist`);
    if (anchor !== undefined)
      assert.ok(anchorsOf(file).includes(anchor), `${name} leads to ${target}, which has no such heading`);
    assert.ok(!existsSync(join(ROOT, `docs/${name}.md`)), `${name} is a page`);
    const up = name.includes("/") ? "../" : "";
    assert.ok(
      redirectTo(name, target).includes(`<a href="${up}${page}.html${anchor === undefined ? "" : `#${anchor}`}">`),
    );
  }
});

test("the navigation of the site has each page of docs once, and only pages that exist", () => {
  const pages = NAVIGATION.flatMap((part) => part.pages).map((page) => `${page}.md`);
  assert.deepEqual(
    pages.filter((page) => page.startsWith("docs/")).sort(),
    PAGES.filter((page) => page.startsWith("docs/") && page !== "docs/README.md").sort(),
  );
  assert.deepEqual(
    pages.filter((page) => !existsSync(join(ROOT, page))),
    [],
  );
});

/** `NAME` is a placeholder: then only its folder must exist. */
function sourcePathsIn(text: string): readonly string[] {
  return [...text.matchAll(/`(src\/[^`\s]*)`/g)].map(([, path = ""]) => path.replace(/\/?[^/]*NAME.*$/, ""));
}

test("each path in the source that a page names exists", () => {
  for (const page of ["docs/design/architecture.md", "docs/design/contributing.md"]) {
    const paths = sourcePathsIn(textOf(page));
    const missing = paths.filter((path) => !existsSync(join(ROOT, path)));
    assert.deepEqual(missing, [], page);
    assert.ok(paths.length > 5, `${page} names hardly any path`);
  }
});

test("each place in the source that the table of tricks names exists", () => {
  const rows = [...textOf("docs/design/performance.md").matchAll(/^\| [^|]* \| `([a-z][^`|]*)` \|/gm)].map(
    ([, place = ""]) => place,
  );
  assert.ok(rows.length > 5);
  const missing = rows.filter(
    (place) => !["", ".ts"].some((ending) => existsSync(join(ROOT, "src", `${place}${ending}`))),
  );
  assert.deepEqual(missing, []);
});

test("each file that the README of a source folder names exists", () => {
  const readmes = readdirSync(join(ROOT, "src"), { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith("README.md"),
  );
  assert.ok(readmes.length > 20);
  for (const readme of readmes.map((name) => `src/${name}`)) {
    const named = [...textOf(readme).matchAll(/`([\w./-]+\.ts)`/g)].flatMap(([, file = ""]) =>
      file.startsWith("NAME/") ? [] : file,
    );
    const missing = named.filter(
      (file) =>
        ![dirname(readme), `${dirname(readme)}/..`, "src", "."].some((folder) => existsSync(join(ROOT, folder, file))),
    );
    assert.deepEqual(missing, [], readme);
  }
});

test("each command is on the page of the command line, with all its options", async () => {
  const page = textOf("docs/reference/cli.md");
  const missing: string[] = [];
  for (const name of Object.keys(COMMANDS).filter(isCommand)) {
    const program = new Command("procman");
    await defineCommand(name, program);
    for (const { options } of program.commands) {
      assert.match(page, new RegExp(`\\b${name}\\b`), name);
      missing.push(
        ...options
          .filter(({ long, short, hidden }) => !hidden && ![long, short].some((flag) => page.includes(`${flag}`)))
          .map(({ flags }) => `${name} ${flags}`),
      );
    }
  }
  assert.deepEqual(missing, []);
});

test("each cause of an incident is on its page", () => {
  const causes = SCHEMAS.Incident.properties?.cause?.enum ?? [];
  assert.ok(causes.length > 5);
  const page = textOf("docs/guide/crashes.md");
  assert.deepEqual(
    causes.filter((word) => !page.includes(`\`${word}\``)),
    [],
  );
});

/** Of the second column of the tables for users of other tools. */
function fieldsIn(page: string): readonly string[] {
  return textOf(page)
    .split("\n")
    .flatMap(
      (line) =>
        /^`(".*")`$|^`(".*[}\]\w])`$/
          .exec(line.split(" | ")[1] ?? "")
          ?.slice(1)
          .find(Boolean) ?? [],
    );
}

test("the fields of the tables for users of other tools are valid", () => {
  const page = "docs/guide/migrate.md";
  const all = fieldsIn(page);
  assert.ok(all.length > 40, `${all.length}`);
  for (const fields of all) {
    const others = ['"cmd": "true",', '"autostart": true,']
      .filter((each) => !fields.startsWith(each.split(":")[0] ?? ""))
      .join(" ");
    const text = `{ "processes": [{ "id": "web", ${others} ${fields} }, { "id": "db", "cmd": "true", "autostart": true }] }`;
    check({ file: join(ROOT, "docs", "procman.jsonc"), shownAs: page, text });
  }
});

test("the alerts and the dashboard for Prometheus name metrics, labels and states that procman has", () => {
  const families = metricFamilies();
  for (const file of ["alerts.yml", "grafana.json"]) {
    const text = textOf(`examples/prometheus/${file}`).replaceAll('\\"', '"');
    const names = text.match(/\bprocman_[a-z_]+/g) ?? [];
    assert.ok(names.length > 5, file);
    for (const name of names)
      assert.ok(
        families.find((family) => family.name === name),
        `${file}: ${name}`,
      );
    const labels = [...text.matchAll(/\bby \(([^)]*)\)|\$labels\.(\w+)|\bon \(([^)]*)\)/g)].flatMap((match) =>
      match.slice(1).flatMap((label) => label?.split(", ") ?? []),
    );
    assert.ok(labels.length > 5, file);
    const known = new Set(["instance", ...families.flatMap((family) => family.labels)]);
    for (const label of labels) assert.ok(known.has(label), `${file}: ${label}`);
    const states = [...text.matchAll(/state=~"([^"]+)"/g)].flatMap(([, state = ""]) => state.split("|"));
    assert.ok(states.length > 0, file);
    for (const state of states) assert.ok((STATUSES as readonly string[]).includes(state), `${file}: ${state}`);
  }
});

/** Code blocks with a complete configuration; their programs, users and groups need not exist here. */
const EXAMPLES = PAGES.flatMap((page) =>
  [...textOf(page).matchAll(/^```jsonc?\n([\s\S]*?)^```$/gm)].flatMap(([, text = ""]) =>
    (parse(text) as { processes?: unknown } | undefined)?.processes === undefined ? [] : [{ page, text }],
  ),
);

for (const [index, { page, text }] of EXAMPLES.entries())
  test(`${page}: its configuration is valid (${index + 1} of ${EXAMPLES.length})`, () => {
    const config = { file: join(ROOT, "docs", "procman.jsonc"), shownAs: page, text };
    const { processes } = check(config, { checksAccounts: false });
    assert.ok(processes.length > 0);
  });
