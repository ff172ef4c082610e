/** The place of a value in a configuration file, for a message long after the file was read. */
import { relative } from "node:path";
import { startFolder } from "../os/start-folder.ts";
import { readConfigBytes } from "./config-file.ts";
import { type JsonPath, parseDocument, withoutBom } from "./document.ts";

/** For example `procman.json:12:7`; only the file name when the file can't be read any more. */
export function placeIn(file: string, path: JsonPath): string {
  const near = relative(startFolder(file), file);
  const shown = near.startsWith("..") ? file : near;
  try {
    const { line, column } = parseDocument(withoutBom(readConfigBytes(file).toString("utf8"))).place(path);
    return `${shown}:${line}:${column}`;
  } catch {
    return shown;
  }
}
