/* Log what a process writes to the files of a ledger and when it asks for it to be durable.
   Loaded with LD_PRELOAD; DISK_LOG names the log, of records: kind, length of name, offset, length
   of data, name, data. Files whose name ends in .db, .db-wal or .said count. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static int logged = -1;

static int ends(const char *name, const char *with) {
  size_t n = strlen(name), w = strlen(with);
  return n >= w && !strcmp(name + n - w, with);
}

static void note(char kind, const char *name, int64_t offset, const void *data, uint32_t size) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "write");
  if (!(ends(name, ".db") || ends(name, ".db-wal") || ends(name, ".said"))) return;
  if (logged < 0) logged = open(getenv("DISK_LOG"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  char buffer[32 + 4096];
  uint32_t length = strlen(name);
  buffer[0] = kind;
  memcpy(buffer + 1, &length, 4);
  memcpy(buffer + 5, &offset, 8);
  memcpy(buffer + 13, &size, 4);
  memcpy(buffer + 17, name, length);
  real(logged, buffer, 17 + length);
  if (size) real(logged, data, size);
}

static void note_fd(char kind, int fd, int64_t offset, const void *data, uint32_t size) {
  char link[64] = "/proc/self/fd/", name[4096], digits[16];
  int n = 0, rest = fd, at = 14;
  do digits[n++] = '0' + rest % 10; while (rest /= 10);
  while (n) link[at++] = digits[--n];
  link[at] = 0;
  ssize_t length = readlink(link, name, sizeof name - 1);
  if (length <= 0) return;
  name[length] = 0;
  note(kind, name, offset, data, size);
}

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = dlsym(RTLD_NEXT, #name)

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset) {
  REAL(ssize_t, pwrite64, int, const void *, size_t, off64_t);
  ssize_t done = real(fd, data, size, offset);
  if (done > 0) note_fd('W', fd, offset, data, done);
  return done;
}
ssize_t write(int fd, const void *data, size_t size) {
  REAL(ssize_t, write, int, const void *, size_t);
  off64_t offset = lseek64(fd, 0, SEEK_CUR);
  ssize_t done = real(fd, data, size);
  if (done > 0 && fd > 2) note_fd('W', fd, offset, data, done);
  return done;
}
int ftruncate64(int fd, off64_t size) {
  REAL(int, ftruncate64, int, off64_t);
  int done = real(fd, size);
  if (!done) note_fd('T', fd, size, NULL, 0);
  return done;
}
int fdatasync(int fd) {
  REAL(int, fdatasync, int);
  int done = real(fd);
  if (!done) note_fd('S', fd, 0, NULL, 0);
  return done;
}
int fsync(int fd) {
  REAL(int, fsync, int);
  int done = real(fd);
  if (!done) note_fd('S', fd, 0, NULL, 0);
  return done;
}
int unlink(const char *name) {
  REAL(int, unlink, const char *);
  int done = real(name);
  if (!done) note('U', name, 0, NULL, 0);
  return done;
}
