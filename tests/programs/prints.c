/* Prints in every way that there is, beside packets to itself. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <error.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
static int udp;
static struct sockaddr_in self = {.sin_family = AF_INET};
static void open_socket(void) {
  self.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  self.sin_port = 0;
  udp = socket(AF_INET, SOCK_DGRAM, 0);
  if (bind(udp, (void *)&self, sizeof self)) _exit(70);
  socklen_t n = sizeof self;
  getsockname(udp, (void *)&self, &n);
}
static void says(const char *what) {
  if (sendto(udp, what, strlen(what), 0, (void *)&self, sizeof self) < 0) _exit(71);
}
static void with_list(const char *format, ...) {
  va_list list;
  va_start(list, format);
  vprintf(format, list);
  va_end(list);
  va_start(list, format);
  vfprintf(stderr, format, list);
  va_end(list);
}
static void ways(void) {
  printf("printf %d %s\n", 42, "words");
  fprintf(stdout, "fprintf %.3f\n", 0.125);
  fprintf(stderr, "fprintf to the errors\n");
  puts("puts");
  fputs("fputs\n", stdout);
  putchar('p');
  putc('q', stdout);
  fputc('\n', stdout);
  putc_unlocked('u', stdout);
  putchar_unlocked('\n');
  fputs_unlocked("unlocked\n", stdout);
  fwrite("fwrite\n", 1, 7, stdout);
  fwrite_unlocked("fwrite unlocked\n", 1, 16, stdout);
  with_list("a list of %d\n", 7);
  says("amid");
  errno = ENOENT;
  perror("perror");
  psignal(SIGUSR1, "psignal");
  warnx("warnx %d", 1);
  error(0, ENOENT, "error");
  fflush(stdout);
  dprintf(1, "dprintf %d\n", 3);
  dprintf(2, "dprintf to the errors\n");
  write(1, "write\n", 6);
  write(2, "write to the errors\n", 20);
  struct iovec parts[3] = {{"wri", 3}, {"", 0}, {"tev\nand", 7}};
  writev(1, parts, 3);
  write(1, " more\n", 6);
  syscall(SYS_write, 1, "by number\n", 10);
  FILE *second = fdopen(dup(1), "w"), *third = fdopen(1, "w");
  setvbuf(third, 0, _IONBF, 0);
  fprintf(third, "a second stream\n");
  fprintf(second, "this goes through another descriptor\n");
  fflush(second);
  fclose(second);
  setvbuf(stdout, 0, _IOLBF, 0);
  printf("by lines\n");
  setvbuf(stdout, 0, _IONBF, 0);
  printf("unbuffered %d\n", 5);
  char buffer[16];
  setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
  printf("a buffer that is much too small for such a line\nand the next\n");
  printf("the last, without an end");
}
static void binary(void) {
  unsigned char all[256];
  for (int i = 0; i < 256; i++) all[i] = i;
  for (int i = 0; i < 40; i++) {
    fwrite(all, 1, 256, stdout);
    if (i % 10 == 9) says("binary");
    if (i % 4 == 0) fflush(stdout);
    write(2, all, i);
  }
}
static void partial(void) {
  for (int i = 0; i < 20; i++) {
    printf("part %d, ", i);
    says("part");
    if (i % 3 == 0) fflush(stdout);
    if (i % 5 == 4) printf("end\n");
  }
  fflush(stdout);
  for (int i = 0; i < 3; i++) {
    printf("lost\n");
    __fpurge(stdout);
    printf("kept %d\nand so on", i);
    says("kept");
    printf("\n");
    fflush(stdout);
  }
  char *long_line = malloc(20001);
  memset(long_line, 'x', 20000);
  long_line[20000] = 0;
  printf("%s\n", long_line);
}
static void closes(const char *path) {
  printf("before\n");
  says("before");
  fflush(stdout);
  close(1);
  printf("into nothing\n");
  if (fflush(stdout) == 0) _exit(72);
  int file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (file != 1) _exit(73);
  write(1, "data, not a line\n", 17);
  close(1);
  fprintf(stderr, "after\n");
  says("after");
}
static void dups(const char *path) {
  printf("to the pipe\n");
  fflush(stdout);
  int kept = dup(1), file = open(path, O_CREAT | O_WRONLY | O_TRUNC, 0600);
  dup2(file, 1);
  printf("to the file\n");
  write(1, "straight to the file\n", 21);
  fflush(stdout);
  says("there");
  dup2(kept, 1);
  printf("to the pipe again\n");
  if (!freopen(path, "a", stdout)) _exit(74);
  printf("opened again\n");
}
static void forks(void) {
  printf("the parent has a line\n");
  says("parent");
  printf("waiting, ");
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    open_socket();
    printf("the child\n");
    says("child");
    printf("goes on\n");
    exit(0);
  }
  waitpid(child, 0, 0);
  printf("the parent goes on\n");
}
static void many(int count) {
  for (int i = 0; i < count; i++) {
    printf("line %d of many, which says something of the state of the game\n", i);
    if (i % 1000 == 999) says("many");
  }
}
static void crashes(void) {
  printf("all is well\n");
  says("well");
  printf("something is wrong\n");
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  raise(SIGKILL);
}
static void tty(void) {
  printf("a terminal: %d %d\n", isatty(1), isatty(2));
  says("tty");
  printf("\033[31mred\033[0m\n");
}
static void wide(void) {
  setlocale(LC_ALL, "C.UTF-8");
  wprintf(L"wide %d \u00e9\n", 1);
  says("wide");
  fputws(L"wider\n", stdout);
}
static void file(const char *path) {
  char line[100] = "";
  FILE *in = fopen(path, "r");
  if (!in || !fgets(line, sizeof line, in)) _exit(75);
  printf("first\n");
  says("one");
  printf("the file says %s", line);
  says("two");
  printf("last\n");
}
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *worker(void *name) {
  for (int i = 0; i < 200; i++) {
    printf("worker %s says %d\n", (char *)name, i);
    pthread_mutex_lock(&lock);
    says(name);
    pthread_mutex_unlock(&lock);
  }
  return 0;
}
static void threads(void) {
  pthread_t all[3];
  char *names[3] = {"one", "two", "three"};
  for (int i = 0; i < 3; i++) pthread_create(&all[i], 0, worker, names[i]);
  for (int i = 0; i < 3; i++) pthread_join(all[i], 0);
}
int main(int argc, char **argv) {
  const char *mode = argc > 1 ? argv[1] : "ways", *path = argc > 2 ? argv[2] : "";
  open_socket();
  says("begin");
  if (!strcmp(mode, "ways")) ways();
  if (!strcmp(mode, "binary")) binary();
  if (!strcmp(mode, "partial")) partial();
  if (!strcmp(mode, "closes")) closes(path);
  if (!strcmp(mode, "dups")) dups(path);
  if (!strcmp(mode, "forks")) forks();
  if (!strcmp(mode, "many")) many(atoi(path));
  if (!strcmp(mode, "crashes")) crashes();
  if (!strcmp(mode, "tty")) tty();
  if (!strcmp(mode, "wide")) wide();
  if (!strcmp(mode, "file")) file(path);
  if (!strcmp(mode, "threads")) threads();
  return 0;
}
