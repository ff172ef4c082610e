/** What the entries of the package export: names, members of types and classes, parameters. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { MAY_BE_ABSENT, type Promised, type PromisedNames } from "./promised-schemas.ts";

const ROOT = new URL("../", import.meta.url);

function json<Of>(path: string): Of {
  return JSON.parse(readFileSync(new URL(path, ROOT), "utf8")) as Of;
}

/** Names in package.json that users import; the files are those of typedoc.json. */
export function promisedEntries(): PromisedNames {
  const { exports, bin } = json<{ readonly exports: object; readonly bin: object }>("package.json");
  return Object.fromEntries([
    ...Object.entries(exports).map(([name, { import: module, require: common }]) => [
      name.replace(/^\./, "procman"),
      { facts: [...(module === undefined ? [] : ["import"]), ...(common === undefined ? [] : ["require"])] },
    ]),
    ...Object.keys(bin).map((name) => [name, { facts: ["command"] }]),
  ]);
}

/** `described`: types whose members other promises have. */
export function promisedExports(described: readonly string[]): PromisedNames {
  const { entryPoints } = json<{ readonly entryPoints: readonly string[] }>("typedoc.json");
  const { compilerOptions } = json<{ readonly compilerOptions: object }>("tsconfig.json");
  const root = fileURLToPath(ROOT);
  const { options } = ts.convertCompilerOptionsFromJson(compilerOptions, root);
  const files = entryPoints.map((entry) => `${root}${entry}`);
  const program = ts.createProgram(files, options);
  const reader = new ExportReader(program.getTypeChecker(), [`${root}src/`, `${root}generated/`], described);
  for (const file of files) {
    const source = program.getSourceFile(file);
    if (source !== undefined) reader.read(source, file.slice(root.length));
  }
  return reader.names;
}

class ExportReader {
  readonly names: Record<string, Promised> = {};
  readonly #checker: ts.TypeChecker;
  readonly #own: readonly string[];
  readonly #described: readonly string[];

  /** `own`: the folders of the source. Members that are declared elsewhere, as those of `Error`, are left out. */
  constructor(checker: ts.TypeChecker, own: readonly string[], described: readonly string[]) {
    this.#checker = checker;
    this.#own = own;
    this.#described = described;
  }

  read(file: ts.SourceFile, entry: string): void {
    const module = this.#checker.getSymbolAtLocation(file);
    for (const exported of module === undefined ? [] : this.#checker.getExportsOfModule(module)) {
      const name = `${entry}: ${exported.name}`;
      const symbol = exported.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(exported) : exported;
      const isType = (symbol.flags & ts.SymbolFlags.Type) !== 0;
      const isValue = (symbol.flags & ts.SymbolFlags.Value) !== 0;
      const type = this.#checker.getDeclaredTypeOfSymbol(symbol);
      this.names[name] = { facts: [...(isType ? ["type"] : []), ...(isValue ? ["value"] : []), ...words(type)] };
      if (isType && !this.#isDescribed(symbol)) this.#members(type, name);
      if (!isValue) continue;
      this.#members(this.#checker.getTypeOfSymbol(symbol), name);
      this.#parameters(this.#checker.getTypeOfSymbol(symbol), name);
    }
  }

  #isDescribed({ name }: ts.Symbol): boolean {
    return this.#described.includes(name) || /Configuration$/.test(name);
  }

  #members(type: ts.Type, name: string): void {
    for (const member of this.#checker.getPropertiesOfType(type)) {
      const places = member.declarations?.map((each) => each.getSourceFile().fileName) ?? [];
      const isOwn = places.some((place) => this.#own.some((folder) => place.startsWith(folder)));
      if (member.name.startsWith("#") || !isOwn) continue;
      const inner = `${name}.${member.name}`;
      this.names[inner] = { facts: [] };
      this.#parameters(this.#checker.getTypeOfSymbol(member), inner);
    }
  }

  #parameters(type: ts.Type, name: string): void {
    const [signature] = type.getCallSignatures();
    signature?.parameters.forEach((parameter, index) => {
      const { valueDeclaration: declared } = parameter;
      const isOptional =
        declared !== undefined &&
        ts.isParameter(declared) &&
        (this.#checker.isOptionalParameter(declared) || declared.dotDotDotToken);
      this.names[`${name}(${index + 1})`] = isOptional ? { facts: [MAY_BE_ABSENT] } : { facts: [], mustBeGiven: true };
    });
  }
}

/** Of a type that is one of several words. */
function words(type: ts.Type): readonly string[] {
  return type.isUnion()
    ? type.types.flatMap((each) => (each.isStringLiteral() ? [JSON.stringify(each.value)] : []))
    : [];
}
