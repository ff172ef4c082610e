/** Checks the files of the site as a browser would follow them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

/** Links to pages, files and anchors that aren't there, and what a page would load from elsewhere. */
export function faultsOfSite(folder) {
  const pages = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"));
  const texts = new Map(pages.map((name) => [`/${name}`, readFileSync(join(folder, name), "utf8")]));
  return [...texts].flatMap(([page, text]) => [
    ...attributes(text, "href|src|srcset").flatMap((target) => faultOf(folder, texts, page, target)),
    ...loadedFrom(text).map((url) => `${page} loads ${url}`),
  ]);
}

function faultOf(folder, texts, page, target) {
  if (/^(\w+:|\/\/)/.test(target)) return [];
  const [path = "", anchor = ""] = target.split("#");
  const file = path === "" ? page : fileAt(posix.resolve(posix.dirname(page), decodeURI(path)), path.endsWith("/"));
  if (!existsSync(join(folder, file))) return [`${page} links to ${target}, which does not exist`];
  if (anchor === "" || attributes(texts.get(file) ?? "", "id").includes(decodeURIComponent(anchor))) return [];
  return [`${page} links to ${target}, which has no such anchor`];
}

/** A web server answers a folder with its index. */
function fileAt(path, isFolder) {
  return isFolder ? posix.join(path, "index.html") : path;
}

function attributes(text, names) {
  return [...text.matchAll(new RegExp(`\\s(?:${names})="([^"]*)"`, "g"))].map(([, value]) =>
    value.replaceAll("&amp;", "&"),
  );
}

/** Of scripts, styles and pictures; a link to elsewhere is not a load. */
function loadedFrom(text) {
  const loading = [...text.matchAll(/<(?:script|link|img|source|iframe|video|audio)\b[^>]*>/g)].map(([tag]) => tag);
  return loading.flatMap((tag) => attributes(tag, "href|src|srcset")).filter((url) => /^(\w+:)?\/\//.test(url));
}
