/**
 * A terminal for a program. Node can't make one without native code; perl(1), which Debian, Ubuntu and macOS always
 * have, can. It makes the terminal, forks the process that holds it, and becomes the program: pid, parent, exit code
 * and signals are those of the program, as without a terminal.
 *
 * The holder copies between the terminal and the descriptors that the run was started with. It has a session of its
 * own and no variable of the run, and ignores the signals that end one: neither a stop nor a sweep reaches it. It ends
 * when the last process has closed the terminal, and all output is written.
 */
import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { linkIfSeen } from "./files.ts";
import { allProcesses, processName } from "./process-stat.ts";

const PERL = "/usr/bin/perl";
const DEVICE = "/dev/ptmx";
/** Its first 15 bytes are what the kernel shows. */
const TITLE = "procman-terminal";

/** A process that has just begun has its terminal within this time, on a busy machine; it is looked for this often. Milliseconds. */
const STARTING_MS = 1_000;
const POLL_MS = 5;

/** The numbers of ioctl(2) are those of macOS and Linux, where some depend on the processor. */
const LEADER = `
my ($holder, $screen, $mac, $none) = (shift, shift, $^O eq "darwin", 0);
my ($name, $number, $size) = ("\\0" x 128, pack("i", 0), pack("S4", 24, 80, 0, 0));
sub fail { print STDERR "Cannot give the program a terminal: $_[0]: $!\\n"; exit 78 }
$^F = 255;
open my $master, "+<", "${DEVICE}" or fail "${DEVICE}";
if ($mac) {
  for (0x20007454, 0x20007452) { ioctl $master, $_, $none or fail "unlock" }
  ioctl $master, 0x40807453, $name or fail "name";
  $name = unpack "Z*", $name;
} else {
  ioctl $master, 0x40045431, $number or ioctl $master, 0x80045431, $number or fail "unlock";
  ioctl $master, 0x80045430, $number or ioctl $master, 0x40045430, $number or fail "name";
  $name = "/dev/pts/" . unpack "i", $number;
}
# Who sees it as the terminal of this process finds its size set.
sysopen my $terminal, $name, $mac ? 0x20002 : 0x102 or fail $name;
ioctl $terminal, 0x5414, $size or ioctl $terminal, 0x80087467, $size;
ioctl $terminal, $mac ? 0x20007461 : 0x540e, $none or fail $name;
my $child = fork;
defined $child or fail "fork";
unless ($child) {
  setpgrp 0, 0;
  $SIG{$_} = "IGNORE" for qw(HUP INT PIPE QUIT TERM USR1 USR2);
  my $holding = fork;
  exit(defined $holding ? 0 : 1) unless defined $holding && $holding == 0;
  eval { require POSIX; POSIX::setsid() };
  exit if fork;
  close $terminal;
  for my $fd (3 .. 255) {
    my $file;
    next if $fd == fileno $master || $fd eq $screen;
    open $file, "<&=", $fd and close $file;
  }
  pipe my $program, my $end or exit 1;
  print $end $holder;
  close $end;
  chdir "/";
  %ENV = (PATH => "/usr/bin:/bin");
  exec { $^X } "${TITLE}", "/dev/fd/" . fileno $program, fileno $master, $screen;
}
waitpid $child, 0;
$? == 0 or fail "fork";
close $master;
open STDIN, "+<&", $terminal or fail $name;
open STDOUT, "+>&", $terminal or fail $name;
open STDERR, "+>&", $terminal or fail $name;
close $terminal;
if ($screen ne "") { my $file; open $file, ">&=", $screen and close $file }
delete $ENV{PERL_BADLANG};
exec { $ARGV[0] } @ARGV;
my $error = $! + 0;
print STDERR "Cannot start $ARGV[0]: $!\\n";
exit($error == 2 ? 127 : 126);
`;

/** Descriptors: the terminal, and that for those who look, who may hold it up for a second. Input for which the terminal has no room waits in the FIFO, while output goes on. */
const HOLDER = `
my ($master, $screen, $in, $out, $reads) = (@ARGV, "", "", 1);
my %again = map { $_ => 1 } 4, 11, 35;
my $view;
undef $view unless $screen ne "" && open $view, ">&=", $screen;
sub show {
  my ($bytes, $done) = (shift, 0);
  while ($done < length $bytes) {
    my $room = "";
    my $written = syswrite $view, $bytes, length($bytes) - $done, $done;
    if (defined $written) { $done += $written; next }
    return unless $again{$! + 0};
    vec($room, fileno $view, 1) = 1;
    return unless select(undef, $room, undef, 1) > 0;
  }
}
$0 = "${TITLE}";
open my $terminal, "+<&=", $master or exit 1;
fcntl $terminal, 4, $^O eq "darwin" ? 6 : 2050;
while (1) {
  my ($readable, $writable) = ("", "");
  vec($readable, $master, 1) = 1;
  vec($readable, 0, 1) = 1 if $reads && $in eq "";
  vec($writable, $master, 1) = 1 if $in ne "";
  select($readable, $writable, undef, undef) > 0 or next;
  if (vec $readable, $master, 1) {
    my $length = sysread $terminal, $out, 65536;
    last unless $length || !defined $length && $again{$! + 0};
    show($out) if $view && $length;
    for (my $done = 0; $length && $done < $length;) {
      my $written = syswrite STDOUT, $out, $length - $done, $done;
      defined $written || $again{$! + 0} or exit 1;
      $done += $written || 0;
    }
  }
  if (vec $readable, 0, 1) {
    my $length = sysread STDIN, $in, 4096;
    $reads = 0 if defined $length && $length == 0;
  }
  if (vec $writable, $master, 1) {
    my $written = syswrite $terminal, $in;
    substr($in, 0, $written) = "" if $written;
  }
}
`;

/** Variables of the run. Those of the configuration go over `TERM`; the other one keeps perl from complaints about the locale, and doesn't reach the program. */
export const TERMINAL_VARIABLES: Readonly<Record<string, string>> = { TERM: "xterm-256color", PERL_BADLANG: "0" };

/**
 * The command that starts this one on a new terminal of 80 x 24, of which standard input and output are the other side.
 * `screen`: a descriptor that gets the output, too; what can't be written there for a second is lost.
 */
export function onTerminal(argv: readonly string[], screen?: number): readonly string[] {
  return [PERL, "-e", LEADER, "--", HOLDER, screen === undefined ? "" : String(screen), ...argv];
}

export type TerminalSize = { readonly rows: number; readonly columns: number };

/** Sets the size of the terminal of which this process is the leader; programs in its foreground get SIGWINCH. Rejects if there is none, or without `stty`. */
export async function resizeTerminal(pid: number, { rows, columns }: TerminalSize): Promise<void> {
  const place = process.platform === "linux" ? ["-F", await terminalOf(pid)] : ["-f", `/dev/${await ttyByPs(pid)}`];
  await promisify(execFile)("stty", [...place, "rows", String(rows), "columns", String(columns)]);
}

/** From `tty_nr` of proc(5): eight bits of the number are at its end, the others follow the twelve of the driver. */
async function terminalOf(pid: number): Promise<string> {
  for (const end = performance.now() + STARTING_MS; ; await sleep(POLL_MS)) {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const number = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[4]);
    if (number !== 0) return `/dev/pts/${((number >>> 12) & 0xfff00) | (number & 0xff)}`;
    if (performance.now() > end) throw new Error("it has none");
  }
}

async function ttyByPs(pid: number): Promise<string> {
  return (await promisify(execFile)("ps", ["-o", "tty=", "-p", String(pid)])).stdout.trim();
}

/** The process that holds the terminal to which this one writes; undefined: it writes to none of these. Linux only. */
export function terminalHolder(pid: number): number | undefined {
  const [, terminal] = /^\/dev\/pts\/(\d+)$/.exec(linkIfSeen(`/proc/${pid}/fd/1`)) ?? [];
  if (terminal === undefined) return undefined;
  const isHolder = (other: number): boolean =>
    processName(other).startsWith(TITLE.slice(0, 15)) && terminalsHeldBy(other).includes(terminal);
  return allProcesses().find((stat) => stat.state !== "Z" && isHolder(stat.pid))?.pid;
}

function terminalsHeldBy(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap(
      (fd) => /^tty-index:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "latin1"))?.[1] ?? [],
    );
  } catch {
    // It has ended, or belongs to another user.
    return [];
  }
}

/** Why this machine has no terminals for programs, and the remedy; undefined: it has. */
export function whyNoTerminals(platform = process.platform, exists = existsSync): string | undefined {
  if (platform !== "linux" && platform !== "darwin") return `${platform} has no such terminals; remove "tty"`;
  if (!exists(PERL)) return `this machine has no ${PERL}, which makes the terminal; install perl, or remove "tty"`;
  if (!exists(DEVICE)) return `this machine has no ${DEVICE}; mount devpts, or remove "tty"`;
  return undefined;
}
