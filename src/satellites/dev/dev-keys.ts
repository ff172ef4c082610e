/** What a key means. Pure. */
import { didYouMean } from "../../core/base/suggest.ts";
import type { KeyPress } from "../monitor/key-parser.ts";

/** Processes are being named. Absent: each key means something itself. */
export type DevQuestion = { readonly about: "restart" | "filter" | "input"; readonly typed: string };

export type DevAct =
  /** `ids`: none stands for all. */
  | { readonly type: "restart" | "filter"; readonly ids: readonly string[] }
  /** Lines for a process follow. */
  | { readonly type: "input"; readonly id: string }
  | { readonly type: "refused"; readonly text: string }
  | { readonly type: "errors" | "clear" | "monitor" | "keys" | "mark" | "end" | "suspend" | "redraw" };

type Pressed = { readonly question?: DevQuestion; readonly act?: DevAct };

const LETTERS: Readonly<Record<string, Exclude<DevAct["type"], "restart" | "filter" | "input" | "refused">>> = {
  e: "errors",
  c: "clear",
  m: "monitor",
  q: "end",
  "?": "keys",
  h: "keys",
};

const QUESTIONS: Readonly<Record<string, "restart" | "filter" | "input">> = { r: "restart", l: "filter", i: "input" };

/** Shown for `?`. */
export const KEYS =
  "r restart one or all · i type into a process · l lines of some processes alone · e errors alone · c clear the screen · m monitor · Enter an empty line · Ctrl-Z suspend · q or Ctrl-C end all; again: at once";

/** Ids that a question may name. */
export type NameableIds = {
  /** Processes and clusters. */
  readonly owners: readonly string[];
  /** Processes and instances: one of them takes input. */
  readonly instances: readonly string[];
};

function idsFor(about: DevQuestion["about"], { owners, instances }: NameableIds): readonly string[] {
  return about === "input" ? instances : owners;
}

export function pressed(question: DevQuestion | undefined, key: KeyPress, ids: NameableIds): Pressed {
  if (key.name === "interrupt") return { act: { type: "end" } };
  if (key.name === "suspend" || key.name === "redraw")
    return { ...(question && { question }), act: { type: key.name } };
  return question === undefined ? single(key, ids) : typing(question, key, ids);
}

function single(key: KeyPress, nameable: NameableIds): Pressed {
  if (key.name === "enter") return { act: { type: "mark" } };
  if (key.name !== "text") return {};
  const about = QUESTIONS[key.text];
  const ids = about === undefined ? [] : idsFor(about, nameable);
  const [id = ""] = ids;
  if (about !== undefined && about !== "filter" && ids.length === 1)
    return { act: about === "input" ? { type: about, id } : { type: about, ids } };
  if (about !== undefined) return { question: { about, typed: "" } };
  const type = LETTERS[key.text];
  return type === undefined ? {} : { act: { type } };
}

function typing(question: DevQuestion, key: KeyPress, ids: NameableIds): Pressed {
  const { typed } = question;
  switch (key.name) {
    case "text":
    case "paste":
      return { question: { ...question, typed: typed + key.text.replace(/\s+/g, " ") } };
    case "backspace":
      return { question: { ...question, typed: typed.slice(0, -1) } };
    case "clear":
      return { question: { ...question, typed: "" } };
    case "enter":
      return answered(question, idsFor(question.about, ids));
    case "escape":
      return {};
    default:
      return { question };
  }
}

function answered({ about, typed }: DevQuestion, ids: readonly string[]): Pressed {
  const found = named(typed, ids);
  if (typeof found === "string") return { act: { type: "refused", text: found } };
  if (about !== "input") return { act: { type: about, ids: found } };
  const [id, ...others] = found;
  if (id !== undefined && others.length === 0) return { act: { type: about, id } };
  return { act: { type: "refused", text: "input goes to one process: type its name" } };
}

/** Ids, or beginnings of them; nothing stands for all. A text says what is wrong. */
function named(typed: string, ids: readonly string[]): readonly string[] | string {
  const found: string[] = [];
  for (const word of typed.split(/[\s,]+/).filter(Boolean)) {
    const like = ids.includes(word) ? [word] : ids.filter((id) => id.startsWith(word));
    const [first] = like;
    if (first === undefined) return `there is no process "${word}".${didYouMean(word, ids)}`;
    if (like.length > 1) return `"${word}" may be ${like.join(" or ")}`;
    found.push(first);
  }
  return found;
}

const ASKED = { restart: "restart", filter: "show the lines of", input: "type into" } as const;

/** The footer while a line is typed. */
export function questionText({ about, typed }: DevQuestion, ids: NameableIds): string {
  const all = about === "input" ? "" : "Enter alone: all; ";
  return `${ASKED[about]}: ${typed}▏ (${idsFor(about, ids).join(" ")}; ${all}Esc: nothing)`;
}
