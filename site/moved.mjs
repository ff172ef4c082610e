/** Old addresses of pages, as paths without `.md` in `docs/`, and where their content is now. */

/** Pages of `docs/FOLDER` that have become a part of another one. */
export const MERGED = new Map(
  Object.entries({
    "design/decisions": "design/architecture#why",
    "design/glossary": "design/architecture#glossary",
    "guide/dashboard": "guide/interfaces#dashboard",
    "guide/dependencies": "guide/processes#dependencies",
    "guide/executable": "reference/cli#a-single-executable",
    "guide/groups": "guide/processes#groups",
    "guide/health": "guide/supervision#ready-and-healthy",
    "guide/hooks": "guide/processes#hooks",
    "guide/hosts": "guide/interfaces#other-hosts",
    "guide/limits": "guide/environment#limits",
    "guide/monitor": "guide/interfaces#monitor",
    "guide/scaling": "guide/export#where-one-machine-isnt-enough",
    "guide/schedules": "guide/processes#schedules",
    "guide/watch": "guide/reload#watching-files",
    "guide/workers": "guide/processes#workers",
    "reference/errors": "reference/api#codes",
    "reference/tokens": "reference/security#tokens",
    "reference/versions": "reference/reliability#versions",
  }),
);

/** Pages of 1.0.0, where all were in `docs/` itself, that became a page of the same name in a folder. */
const FOLDERS = {
  guide: [
    "clusters",
    "containers",
    "crashes",
    "dashboard",
    "dependencies",
    "environment",
    "executable",
    "export",
    "groups",
    "health",
    "hooks",
    "hosts",
    "library",
    "limits",
    "monitor",
    "plugins",
    "reload",
    "scaling",
    "schedules",
    "start-at-boot",
    "supervision",
    "watch",
    "workers",
  ],
  reference: [
    "api",
    "cli",
    "commands",
    "configuration",
    "errors",
    "fields",
    "metrics",
    "reliability",
    "security",
    "tokens",
    "versions",
  ],
  design: ["architecture", "benchmarks", "glossary", "performance"],
};

/** Pages of 1.0.0 that became a part of another one at once. */
const PARTS = {
  deploy: "guide/recipes#deploy-without-downtime",
  develop: "guide/recipes#develop-with-watch",
  "from-compose": "guide/migrate#from-compose",
  "from-pm2": "guide/migrate#from-pm2",
  "from-supervisord": "guide/migrate#from-supervisord",
  "from-systemd": "guide/migrate#from-systemd-units",
  import: "guide/migrate#import",
  incidents: "guide/crashes",
  "keep-alive": "guide/recipes#keep-a-web-app-alive",
  "log-store": "guide/logs#the-log-store",
  logging: "guide/logs",
  "nightly-job": "guide/recipes#a-job-every-night",
};

/** From an address of 1.0.0 to that of today. */
export const MOVED = new Map([
  ...Object.entries(FOLDERS).flatMap(([folder, names]) =>
    names.map((name) => [name, MERGED.get(`${folder}/${name}`) ?? `${folder}/${name}`]),
  ),
  ...Object.entries(PARTS),
]);

/**
 * The page at an old address: it leads to the new one, and keeps an anchor.
 *
 * @param {string} name the old address
 * @param {string} target the new one
 */
export function redirectTo(name, target) {
  const [page, anchor = ""] = target.split("#");
  const hash = anchor === "" ? "" : `#${anchor}`;
  const path = `${"../".repeat(name.split("/").length - 1)}${page}.html`;
  const url = `${path}${hash}`;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Moved</title>
<meta http-equiv="refresh" content="1; url=${url}">
<script>location.replace("${path}" + (location.hash || "${hash}"));</script>
<p>This page has moved: <a href="${url}">${url}</a>.</p>
</html>
`;
}
