/** What an init system needs to start a procman: files and commands, as data. Nothing here touches the machine. */
import { basename } from "node:path";
import type { BootRecord } from "./boot-record.ts";

export type BootFile = { readonly path: string; readonly text: string; readonly mode: number };

export type BootLink = { readonly path: string; readonly target: string };

export type BootStep = readonly string[];

export type BootPlan = {
  /** What its init system calls it: `procman-shop.service`. */
  readonly unit: string;
  readonly files: readonly BootFile[];
  readonly links?: readonly BootLink[];
  /** Folders that it has alone; removed with what the init system has put there. */
  readonly folders?: readonly string[];
  /** A line of the user's crontab. */
  readonly crontab?: string;
  /** Run after the files are written, also again: each changes nothing where all is in place. */
  readonly enable: readonly BootStep[];
  readonly start: readonly BootStep[];
  /** Stops it in order and takes it out, before the files are removed. */
  readonly disable: readonly BootStep[];
  /** Run after the files are removed. */
  readonly forget?: readonly BootStep[];
  /** Prints its last lines. */
  readonly log?: BootStep;
  /** What a person types to end and to start it. */
  readonly hint: string;
};

export type PlanMaker = (record: BootRecord, launcher: string) => BootPlan;

/** In each file that `install` writes: a file without it isn't overwritten. */
export const MARK = 'Written by "procman install"';

/** Comment lines at the beginning of a script or unit. */
export function headOf({ name }: BootRecord, launcher: string): string {
  return `# ${MARK}; "procman uninstall --name ${name}" removes it. What it runs, for which file: ${basename(launcher)}.\n`;
}

/** A word of a shell command. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Runs the launcher; `words` are safe in a shell. */
export function launch(launcher: string, words: string): string {
  return `/bin/sh ${shellWord(launcher)} ${words}`;
}
