import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { anchorOf } from "../anchor.mjs";
import { NAVIGATION } from "../navigation.mjs";

/** What `scripts/docs.mjs` has copied. */
const PAGES = fileURLToPath(new URL("../pages", import.meta.url));

/** The heading of a page. */
function titleOf(page) {
  const [, title] = /^# (.*)$/m.exec(readFileSync(join(PAGES, `${page}.md`), "utf8")) ?? [];
  if (title === undefined) throw new Error(`${page}.md has no heading`);
  return title;
}

/** GitHub shows the README of a folder that a page links to; here the README is the index of the folder. */
function linkFolders(markdown) {
  markdown.core.ruler.push("link-folders", ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === "link_open")) {
      const target = token.attrGet("href");
      const isFolder = statSync(join(PAGES, dirname(env.relativePath), target), {
        throwIfNoEntry: false,
      })?.isDirectory();
      if (isFolder) token.attrSet("href", `${target.replace(/\/$/, "")}/index.md`);
      else token.attrSet("href", target.replace(/\bREADME\.md(?=$|#)/, "index.md"));
    }
  });
}

/** Indented blocks are lines of a shell, as for `test/pages`. */
function showIndentedBlocks({ renderer: { rules } }) {
  rules.code_block = (tokens, index, ...rest) => {
    tokens[index].info = "sh";
    return rules.fence(tokens, index, ...rest);
  };
}

function configureMarkdown(markdown) {
  linkFolders(markdown);
  showIndentedBlocks(markdown);
}

export default defineConfig({
  title: "procman",
  description: "Starts, supervises, restarts, stops and logs the processes of one JSON file",
  srcDir: "pages",
  outDir: "../results/site",
  cacheDir: "../.cache/vitepress",
  lastUpdated: false,
  markdown: { anchor: { slugify: anchorOf }, config: configureMarkdown },
  themeConfig: {
    sidebar: NAVIGATION.map(({ title, pages }) => ({
      text: title,
      collapsed: title === "Inside" || title === "Promises",
      items: pages.map((page) => ({ text: titleOf(page), link: `/${page}` })),
    })),
    outline: { level: [2, 3] },
    search: { provider: "local" },
  },
});
