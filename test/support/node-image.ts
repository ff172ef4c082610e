/** Stands for the image `node:22-slim` of a registry: Debian, Node, npm and the user `node`, made from Debian's packages and npm. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { nodeOf } from "../../scripts/node-binaries.mjs";
import { ROOT } from "./product.ts";

const RELEASE = "bookworm";
const NODE = "22";
const CACHE = join(ROOT, ".cache/images");
/** What an image for containers leaves out. */
const NEEDLESS = [
  "var/lib/apt/lists",
  "var/cache/apt",
  "usr/share/doc",
  "usr/share/man",
  "usr/share/locale",
  "usr/share/info",
];
/** Debian's packages that an image can install without a network. */
const OFFLINE = "/srv/packages";

/**
 * Its files as a tar archive, which is kept.
 *
 * @param folder that of `unpackPackages`, with debootstrap and the packages that the image can install
 */
export async function nodeImage(folder: string): Promise<string> {
  const archive = join(CACHE, `node-${NODE}-${RELEASE}.tar`);
  if (existsSync(archive)) return archive;
  const root = join(folder, "image");
  debian(root, folder);
  await addNode(root);
  for (const name of NEEDLESS) rmSync(join(root, name), { recursive: true, force: true });
  offerPackages(root, folder);
  mkdirSync(CACHE, { recursive: true });
  execFileSync("tar", ["-C", root, "-cf", `${archive}.part`, "."]);
  renameSync(`${archive}.part`, archive);
  rmSync(root, { recursive: true });
  return archive;
}

/** In a mount namespace: debootstrap mounts /proc below the root. */
function debian(root: string, folder: string): void {
  const tool = join(folder, "root/usr");
  const env = { ...process.env, DEBOOTSTRAP_DIR: join(tool, "share/debootstrap") };
  const command = [
    "sh",
    join(tool, "sbin/debootstrap"),
    "--variant=minbase",
    RELEASE,
    root,
    "http://deb.debian.org/debian",
  ];
  execFileSync("unshare", ["--mount", ...command], { env, stdio: ["ignore", "ignore", "inherit"] });
}

async function addNode(root: string): Promise<void> {
  const local = join(root, "usr/local");
  cpSync(await nodeOf(NODE), join(local, "bin/node"));
  const npm = execFileSync("npm", ["root", "--global"], { encoding: "utf8" }).trim();
  cpSync(join(npm, "npm"), join(local, "lib/node_modules/npm"), { recursive: true });
  for (const name of ["npm", "npx"])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, "bin", name));
  appendFileSync(join(root, "etc/passwd"), "node:x:1000:1000::/home/node:/bin/bash\n");
  appendFileSync(join(root, "etc/group"), "node:x:1000:\n");
  execFileSync("install", ["-d", "-o", "1000", "-g", "1000", join(root, "home/node")]);
}

/** `apt-get install` of the image installs the packages of the folder. */
function offerPackages(root: string, folder: string): void {
  const place = join(root, OFFLINE);
  mkdirSync(place, { recursive: true });
  const entries = readdirSync(folder)
    .filter((name) => name.startsWith("tini_"))
    .map((name) => {
      const content = readFileSync(join(folder, name));
      writeFileSync(join(place, name), content);
      const control = execFileSync("dpkg-deb", ["--field", join(folder, name)], { encoding: "utf8" });
      const digest = createHash("sha256").update(content).digest("hex");
      return `${control}Filename: ./${name}\nSize: ${content.length}\nSHA256: ${digest}\n`;
    });
  writeFileSync(join(place, "Packages"), entries.join("\n"));
  mkdirSync(dirname(join(root, "etc/apt/sources.list")), { recursive: true });
  writeFileSync(join(root, "etc/apt/sources.list"), `deb [trusted=yes] file:${OFFLINE} ./\n`);
}
