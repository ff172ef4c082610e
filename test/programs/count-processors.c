/* Preloaded: the machine seems to have as many processors as the variable PROCESSORS says. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set) {
  const char *wanted = getenv("PROCESSORS");
  int count = wanted == NULL ? 1 : atoi(wanted);
  (void)pid;
  memset(set, 0, size);
  for (int each = 0; each < count; each++) CPU_SET_S(each, size, set);
  return 0;
}
