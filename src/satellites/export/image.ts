/** A Dockerfile for the programs of a configuration. */
import { basename } from "node:path";
import { parseCommandLine } from "../../core/base/command-line.ts";
import { APP_FOLDER } from "./container.ts";
import { comments, type ExportedFile, type Note, type Project, type Workload } from "./workload.ts";

/** Programs that an image has, and the image. */
const NODE = new Set(["node", "npm", "npx", "corepack", "yarn"]);
const PYTHON = new Set(["python", "python3", "pip"]);
/** Every Debian image has these. */
const SYSTEM = new Set(
  "sh bash env true false echo printf test cat head tail tee cut tr sort uniq wc seq xargs grep sed awk perl find ls cp mv rm ln mkdir rmdir touch chmod chown stat date sleep timeout nice nohup kill id hostname uname tar gzip gunzip mktemp basename dirname readlink realpath sha256sum base64 yes dd df du".split(
    " ",
  ),
);

/** What is read from the folder, and must not get into an image. */
const IGNORED = [
  ".git",
  "**/.procman",
  "**/node_modules",
  "**/.env",
  "**/.env.*",
  "**/*.log",
  "**/*.log.*",
  "Dockerfile*",
];

export type Image = { readonly name: string; readonly files: readonly ExportedFile[]; readonly notes: readonly Note[] };

/** The image that exists, or files to build one. */
export function imageOf(workloads: readonly Workload[], project: Project): Image {
  if (project.image !== undefined) return { name: project.image, files: [], notes: [] };
  const programs = workloads.map((workload) => ({ id: workload.id, program: programOf(workload) }));
  const isOf = (known: ReadonlySet<string>): boolean =>
    programs.some(({ program }) => program !== undefined && known.has(program));
  const isNode = isOf(NODE);
  const isPython = isOf(PYTHON);
  const known = new Set([...SYSTEM, ...(isNode ? NODE : isPython ? PYTHON : [])]);
  const missing = programs.filter(({ program }) => program !== undefined && !known.has(program));
  const notes = missing.map(
    ({ id, program = "" }): Note => ({
      process: id,
      field: "cmd",
      text: `the image has no ${program}: install it in the Dockerfile, or give this service another image`,
    }),
  );
  const base = isNode
    ? `node:${process.versions.node.split(".")[0]}-slim`
    : isPython
      ? "python:3-slim"
      : "debian:stable-slim";
  const text = [
    comments(project, notes),
    `FROM ${base}`,
    `WORKDIR ${APP_FOLDER}`,
    ...(isNode && project.hasPackage ? npmLines(project) : []),
    "COPY . .",
    ...(isNode ? [`RUN chown node:node ${APP_FOLDER}`, "USER node"] : []),
    "",
  ].join("\n");
  const ignored = `${comments(project, [])}${IGNORED.join("\n")}\n`;
  return {
    name: `${imageName(project.name)}:latest`,
    files: [
      { name: "Dockerfile", text },
      { name: "Dockerfile.dockerignore", text: ignored },
    ],
    notes,
  };
}

function npmLines({ hasLock }: Project): readonly string[] {
  return hasLock
    ? ["COPY package.json package-lock.json ./", "RUN npm ci --omit=dev"]
    : ["COPY package.json ./", "RUN npm install --omit=dev"];
}

/** undefined: a script of the project, or only the shell knows. */
function programOf({ spec: { command } }: Workload): string | undefined {
  if (command.kind === "worker") return "node";
  const parsed = parseCommandLine(command.line);
  const word =
    parsed.kind === "words"
      ? parsed.words[0]
      : /(?:^|\s)exec (?:[A-Za-z_]\w*=\S* )*([\w./-]+)/.exec(parsed.kind === "exec" ? parsed.line : "")?.[1];
  return word === undefined || word.includes("/") ? undefined : basename(word);
}

/** Letters, digits and single separators: what a name of an image may have. */
function imageName(name: string): string {
  return name.replace(/[._-]{2,}/g, "-").replace(/^[._-]|[._-]$/g, "") || "app";
}
