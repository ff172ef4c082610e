/**
 * The texts of the source that a user may read. A text is a string, a template or a text of JSX that
 * - has two words with a blank between them, or begins with a word in upper case, or is what a page shows or a
 *   property such as `label` has,
 * - and is no name: of a module, a type or a property, of a class in a page; nor what something is compared with.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

const HEAD = `# The texts of the source that a user may read, by file, so that a diff shows each new one.
# Made by \`npm run words\`; the rule is in scripts/word-list.ts.
`;

const LETTERS = /\p{L}{2}/u;

/** Two words, or one in upper case at the beginning. */
const WORDS = /\p{L}{2}\S*\s+\S*\p{L}{2}|^[^\p{L}]*\p{Lu}\p{Ll}/u;

/** Properties and attributes whose value is shown, also when it is one word. */
const SHOWN = /^(?:label|title|text|hint|meaning|help|description|placeholder|alt|aria-(?:label|description))$/;

/** Attributes whose value is for the browser. */
const UNSEEN = /^(?:class|className|style|d|viewBox|transform|points|href|src|rel|type|id|for|autocomplete)$/;

/** The most characters of an expression that is shown in its template. */
const MOST = 48;

const OPTIONS = { languageVersion: ts.ScriptTarget.Latest, jsDocParsingMode: ts.JSDocParsingMode.ParseNone };

/** The list, with `root` before the name of each file. */
export function wordList(root: string): string {
  const parts = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((file) => /(?<!\.test)\.tsx?$/.test(file))
    .sort()
    .map((file) => [`${root}/${file}`, ...textsIn(file, readFileSync(join(root, file), "utf8"))])
    .filter(({ length }) => length > 1)
    .map((lines) => lines.join("\n  "));
  return `${[HEAD.trimEnd(), ...parts].join("\n\n")}\n`;
}

/** The texts of a file, each once, in their order. */
export function textsIn(file: string, source: string): readonly string[] {
  return [...new TextReader(ts.createSourceFile(file, source, OPTIONS, true)).texts];
}

class TextReader {
  readonly texts = new Set<string>();
  readonly #file: ts.SourceFile;

  constructor(file: ts.SourceFile) {
    this.#file = file;
    this.#visit(file);
  }

  #visit(node: ts.Node): void {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return;
    if (isText(node)) this.#addText(node);
    else if (ts.isJsxElement(node) || ts.isJsxFragment(node)) this.#addPage(node);
    ts.forEachChild(node, (child) => this.#visit(child));
  }

  #addText(node: ts.Expression): void {
    if (isPart(node) || isName(node)) return;
    const text = this.#textOf(node);
    if (LETTERS.test(text.replaceAll(/\{[^{}]*\}/g, "")) && (WORDS.test(text) || isShown(node))) this.#add(text);
  }

  /** A paragraph with its links and values is one text. */
  #addPage(node: ts.JsxElement | ts.JsxFragment): void {
    if (hasWords(node) && !hasWords(node.parent)) this.#add(this.#pageOf(node));
  }

  #add(text: string): void {
    this.texts.add(text.trim().replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll("\u001b", "\\e"));
  }

  #textOf(node: ts.Expression): string {
    if (ts.isParenthesizedExpression(node)) return this.#textOf(node.expression);
    if (ts.isStringLiteralLike(node)) return node.text;
    if (ts.isTemplateExpression(node))
      return `${node.head.text}${node.templateSpans.map((span) => `${this.#valueOf(span.expression)}${span.literal.text}`).join("")}`;
    return isSum(node) ? `${this.#textOf(node.left)}${this.#textOf(node.right)}` : this.#valueOf(node);
  }

  #pageOf(node: ts.JsxChild): string {
    if (ts.isJsxText(node)) return node.text.replaceAll(/\s*\n\s*/g, " ");
    if (ts.isJsxExpression(node)) return node.expression === undefined ? "" : this.#childOf(node.expression);
    return ts.isJsxSelfClosingElement(node) ? "" : node.children.map((child) => this.#pageOf(child)).join("");
  }

  #childOf(node: ts.Expression): string {
    return ts.isStringLiteralLike(node) ? node.text : this.#valueOf(node);
  }

  #valueOf(node: ts.Expression): string {
    const source = node.getText(this.#file);
    return `{${source.length > MOST || source.includes("\n") ? "…" : source}}`;
  }
}

function isText(node: ts.Node): node is ts.Expression {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node) || isSum(node);
}

/** A sum with a string in it. */
function isSum(node: ts.Node): node is ts.BinaryExpression {
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return false;
  return isText(node.left) || isText(node.right);
}

/** Whether the text belongs to a longer one. */
function isPart(node: ts.Node): boolean {
  const { parent } = node;
  if (ts.isJsxExpression(parent)) return hasWords(parent.parent);
  return isSum(parent) || (ts.isParenthesizedExpression(parent) && isPart(parent));
}

function isName(node: ts.Node): boolean {
  const { parent } = node;
  const { parent: holder } = outermost(node);
  if (ts.isJsxAttribute(holder) && UNSEEN.test(holder.name.getText())) return true;
  if (ts.isBinaryExpression(parent)) return /^(?:[!=]==?|in)$/.test(parent.operatorToken.getText());
  if (ts.isPropertyAssignment(parent)) return parent.name === node;
  return ts.isCaseClause(parent) || ts.isElementAccessExpression(parent) || ts.isComputedPropertyName(parent);
}

/** The expression that may have this value: `a ? "b" : "c"`, `a && "b"`, `{"b"}`. */
function outermost(node: ts.Node): ts.Node {
  const { parent } = node;
  const isBranch = ts.isConditionalExpression(parent) && parent.condition !== node;
  const isOperand = ts.isBinaryExpression(parent) && /^(?:&&|\|\||\?\?)$/.test(parent.operatorToken.getText());
  return isBranch || isOperand || ts.isParenthesizedExpression(parent) || ts.isJsxExpression(parent)
    ? outermost(parent)
    : node;
}

function isShown(node: ts.Node): boolean {
  const whole = outermost(node);
  if (ts.isJsxElement(whole.parent) || ts.isJsxFragment(whole.parent)) return ts.isJsxExpression(whole);
  return (
    (ts.isJsxAttribute(whole.parent) || ts.isPropertyAssignment(whole.parent)) &&
    SHOWN.test(whole.parent.name.getText().replaceAll(/["']/g, ""))
  );
}

function hasWords(node: ts.Node): boolean {
  const isPage = ts.isJsxElement(node) || ts.isJsxFragment(node);
  return isPage && node.children.some((child) => ts.isJsxText(child) && /\p{L}/u.test(child.text));
}
