// what a fork and exec costs a parent that holds many descriptors; usage: spawns COUNT (0|1: a pipe is kept for each) PROGRAM
// prints the median in ms of each 1000, then ends what it has started. Two descriptors each: `ulimit -n` above 2 * COUNT
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
extern char **environ;
static double now_ms(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e3 + t.tv_nsec / 1e6; }
static int ascending(const void *a, const void *b) { double x = *(double *)a, y = *(double *)b; return x < y ? -1 : x > y; }
int main(int c, char **v) {
  if (c < 4) { fprintf(stderr, "usage: spawns COUNT 0|1 PROGRAM\n"); return 2; }
  int count = atoi(v[1]), keep = atoi(v[2]), started = 0, failed = 0;
  pid_t *pids = malloc(count * sizeof *pids); double took[1000];
  while (started < count) {
    int pipe_fds[2];
    if (keep && pipe2(pipe_fds, O_CLOEXEC)) { perror("pipe2"); failed = 1; break; }
    double t = now_ms(); char *argv[] = { v[3], 0 };
    if (posix_spawn(&pids[started], v[3], 0, 0, argv, environ)) { perror(v[3]); failed = 1; break; }
    took[started++ % 1000] = now_ms() - t;
    if (started % 1000 == 0) { qsort(took, 1000, sizeof *took, ascending); printf("%d: %.2f\n", started, took[500]); }
  }
  for (int i = 0; i < started; i++) kill(pids[i], SIGKILL);
  for (int i = 0; i < started; i++) waitpid(pids[i], 0, 0);
  return failed;
}
