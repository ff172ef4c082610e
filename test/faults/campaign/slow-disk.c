/* Preloaded: while the file SLOW_DISK exists, each write to a regular file below its folder takes the milliseconds in it, as on a busy disk. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static void pause_for(int fd) {
  const char *file = getenv("SLOW_DISK");
  char link[32], path[4096], digits[8] = {0};
  struct stat st;
  if (file == NULL || access(file, F_OK) != 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) return;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  size_t folder = strrchr(file, '/') - file;
  if (length <= (ssize_t)folder || strncmp(path, file, folder) != 0) return;
  int slow = open(file, O_RDONLY);
  if (slow < 0) return;
  if (read(slow, digits, sizeof digits - 1) < 0) digits[0] = 0;
  close(slow);
  long ms = atol(digits);
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

#define SLOWED(result, name, parameters, arguments)                          \
  result name parameters {                                                   \
    static result(*real) parameters;                                         \
    if (real == NULL) real = (result(*) parameters)dlsym(RTLD_NEXT, #name);  \
    pause_for(fd);                                                           \
    return real arguments;                                                   \
  }

SLOWED(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size))
SLOWED(ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count))
SLOWED(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
SLOWED(ssize_t, pwritev64, (int fd, const struct iovec *parts, int count, off64_t at), (fd, parts, count, at))
SLOWED(int, fsync, (int fd), (fd))
SLOWED(int, fdatasync, (int fd), (fd))
