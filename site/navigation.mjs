/** The pages of the site by what readers want, as paths without `.md` from the root of the repository. */
export const NAVIGATION = [
  {
    title: "I want to",
    pages: [
      "docs/guide/recipes",
      "docs/guide/dev",
      "docs/guide/crashes",
      "docs/guide/start-at-boot",
      "docs/guide/remove",
      "docs/guide/containers",
      "docs/guide/interfaces",
      "docs/guide/input",
      "docs/guide/agents",
      "docs/guide/migrate",
      "docs/guide/compare",
    ],
  },
  {
    title: "Guide",
    pages: [
      "docs/guide/supervision",
      "docs/guide/processes",
      "docs/guide/reload",
      "docs/guide/history",
      "docs/guide/environment",
      "docs/guide/ports",
      "docs/guide/sleep",
      "docs/guide/logs",
      "docs/guide/clusters",
      "docs/guide/autoscale",
      "docs/reference/metrics",
      "docs/guide/plugins",
      "docs/guide/library",
      "docs/guide/export",
    ],
  },
  {
    title: "Reference",
    pages: [
      "docs/reference/configuration",
      "docs/reference/fields",
      "docs/reference/cli",
      "docs/reference/commands",
      "docs/reference/json",
      "docs/reference/api",
      "CHANGELOG",
    ],
  },
  {
    title: "Promises",
    pages: [
      "docs/reference/reliability",
      "docs/reference/security",
      "SECURITY",
      "docs/design/performance",
      "docs/design/benchmarks",
    ],
  },
  {
    title: "Inside",
    pages: ["docs/design/architecture", "CONTRIBUTING", "docs/design/contributing"],
  },
];
