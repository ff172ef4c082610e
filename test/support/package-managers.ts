/** npm, pnpm and Yarn, each as its users call it. They come from npm, into `.cache/package-managers`. */
import { execFile, execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import type { Outcome } from "./cli.ts";
import { cleanEnvironment } from "./procman-process.ts";
import { ROOT } from "./product.ts";

type Command = readonly string[];

export type PackageManager = {
  readonly name: string;
  /** The npm package that has it. undefined: npm itself. */
  readonly tool?: string;
  /** Further files of the project. */
  readonly files?: Readonly<Record<string, string>>;
  readonly install: (tarball: string) => Command;
  readonly uninstall: Command;
  /** Runs the command of the package. */
  readonly procman: Command;
  /** Runs a program that imports the package. undefined: the installation is for all projects. */
  readonly node?: Command;
  /** Whether TypeScript finds the types by itself. */
  readonly types?: boolean;
};

/** `file:` because Yarn 4 takes no path. */
const YARN_4 = {
  tool: "@yarnpkg/cli-dist",
  install: (tarball: string): Command => ["yarn", "add", `procman@file:${tarball}`],
  uninstall: ["yarn", "remove", "procman"],
  procman: ["yarn", "procman"],
  node: ["yarn", "node"],
} as const;

const OFFLINE = "enableNetwork: false\nenableTelemetry: false\nenableImmutableInstalls: false\n";

export const PACKAGE_MANAGERS: readonly PackageManager[] = [
  {
    name: "npm",
    install: (tarball) => ["npm", "install", "--offline", tarball],
    uninstall: ["npm", "uninstall", "--offline", "procman"],
    procman: ["npx", "procman"],
    node: ["node"],
    types: true,
  },
  {
    name: "npm, globally",
    install: (tarball) => ["npm", "install", "--global", "--offline", tarball],
    uninstall: ["npm", "uninstall", "--global", "--offline", "procman"],
    procman: ["procman"],
  },
  {
    name: "pnpm",
    tool: "pnpm",
    install: (tarball) => ["pnpm", "add", "--offline", tarball],
    uninstall: ["pnpm", "remove", "procman"],
    procman: ["pnpm", "exec", "procman"],
    node: ["node"],
    types: true,
  },
  {
    name: "pnpm, globally",
    tool: "pnpm",
    install: (tarball) => ["pnpm", "add", "--global", "--offline", tarball],
    uninstall: ["pnpm", "remove", "--global", "procman"],
    procman: ["procman"],
  },
  {
    name: "Yarn 1",
    tool: "yarn",
    install: (tarball) => ["yarn", "add", "--offline", tarball],
    uninstall: ["yarn", "remove", "--offline", "procman"],
    procman: ["yarn", "--silent", "procman"],
    node: ["yarn", "--silent", "node"],
    types: true,
  },
  {
    name: "Yarn 4 with node_modules",
    ...YARN_4,
    files: { "yarn.lock": "", ".yarnrc.yml": `nodeLinker: node-modules\n${OFFLINE}` },
    types: true,
  },
  { name: "Yarn 4 with Plug'n'Play", ...YARN_4, files: { "yarn.lock": "", ".yarnrc.yml": OFFLINE } },
];

/** Variables of the package manager that runs the tests. */
const OF_ANOTHER = /^(?:npm_|pnpm_|yarn_|corepack_|init_cwd$|xdg_|node_path$)/i;

/** A project, and a home of the user, in which a package manager installs procman. */
export class ManagedProject {
  readonly folder: string;
  /** Where a global installation lies. */
  readonly global: string;
  readonly #manager: PackageManager;
  readonly #environment: NodeJS.ProcessEnv;

  constructor(home: string, manager: PackageManager) {
    this.#manager = manager;
    this.folder = join(home, "project");
    this.global = join(home, "global");
    for (const path of [this.folder, this.global, join(home, "user")]) mkdirSync(path, { recursive: true });
    this.write("package.json", '{ "name": "project", "version": "1.0.0", "private": true }\n');
    for (const [name, text] of Object.entries(manager.files ?? {})) this.write(name, text);
    const { PATH = "", ...rest } = cleanEnvironment();
    const env = Object.fromEntries(Object.entries(rest).filter(([name]) => !OF_ANOTHER.test(name)));
    this.#environment = {
      ...env,
      HOME: join(home, "user"),
      npm_config_prefix: this.global,
      PNPM_HOME: this.global,
      PATH: [commandsOf(manager), join(this.global, "bin"), this.global, dirname(process.execPath), PATH]
        .filter(Boolean)
        .join(delimiter),
    };
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  async install(tarball: string): Promise<void> {
    await this.must(this.#manager.install(tarball));
  }

  async uninstall(): Promise<void> {
    await this.must(this.#manager.uninstall);
  }

  procman(...args: readonly string[]): Promise<Outcome> {
    return this.run([...this.#manager.procman, ...args]);
  }

  run([program = "", ...args]: Command): Promise<Outcome> {
    return new Promise((resolve) => {
      execFile(program, args, { cwd: this.folder, env: this.#environment }, (error, out, err) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, err }),
      );
    });
  }

  /** Its output. */
  async must(command: Command): Promise<string> {
    const { code, out, err } = await this.run(command);
    if (code !== 0) throw new Error(`${command.join(" ")} has ended with ${code}:\n${out}${err}`);
    return out;
  }
}

/** The folder of the package manager's commands, installed when it isn't there; "": npm has its commands. undefined: it can't be had. */
export function commandsOf({ tool }: PackageManager): string | undefined {
  if (tool === undefined) return "";
  const folder = join(ROOT, ".cache/package-managers", tool);
  const commands = join(folder, "node_modules/.bin");
  if (existsSync(commands)) return commands;
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync("npm", ["install", "--prefix", folder, "--no-save", "--no-audit", "--no-fund", tool], {
      stdio: "pipe",
      timeout: 120_000,
    });
  } catch (error) {
    if (process.env.CI === "true") throw error;
    return undefined;
  }
  return commands;
}
