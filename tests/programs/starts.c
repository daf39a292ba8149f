/* Starts a program by each way that there is, and sends what it said and how it ended. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "to_itself.h"
extern char **environ;
static int out;
static volatile int ended;
static void ends(int signal) { ended++; }
static void says(const char *what, long how) {
  char said[300];
  snprintf(said, sizeof said, "%s %ld", what, how);
  send(out, said, strlen(said), 0);
}
/* A child that says what nobody knows before. */
static char *words[] = {"sh", "-c", "echo $$ $(cat /proc/sys/kernel/random/uuid); exit 5", NULL};
static void hears(int from, pid_t child) {
  char line[200] = "";
  int length = 0, more, status = 0;
  while ((more = read(from, line + length, sizeof line - 1 - length)) > 0) length += more;
  close(from);
  pid_t waited = waitpid(child, &status, 0);
  says(line, WEXITSTATUS(status) + (waited == child ? 0 : 1000));
  says("child", child);
}
static void does(char **to_run, int ends[2]) {
  dup2(ends[1], 1);
  close(ends[0]);
  execvp(to_run[0], to_run);
  _exit(127);
}
int main(int count, char **arguments) {
  char *way = arguments[1], line[200] = "";
  int ends_of[2];
  if ((out = to_itself()) < 0) return 70;
  says("begins", 0);
  signal(SIGCHLD, ends);
  if (!strcmp(way, "fork") || !strcmp(way, "vfork")) {
    if (pipe2(ends_of, O_CLOEXEC)) return 71;
    pid_t child = !strcmp(way, "fork") ? fork() : vfork();
    if (!child) does(words, ends_of);
    close(ends_of[1]);
    hears(ends_of[0], child);
  } else if (!strcmp(way, "spawn")) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (pipe(ends_of)) return 71;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends_of[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends_of[0]);
    says("fails", posix_spawn(&child, "/nowhere", NULL, NULL, words, environ));
    if (posix_spawnp(&child, "sh", &actions, NULL, words, environ)) return 72;
    close(ends_of[1]);
    hears(ends_of[0], child);
  } else if (!strcmp(way, "system")) {
    says("system", system("exit 3"));
  } else if (!strcmp(way, "popen")) {
    FILE *child = popen(words[2], "r");
    if (!fgets(line, sizeof line, child)) return 73;
    says(line, pclose(child));
    child = popen("cat >/dev/null; exit 4", "w");
    fputs("for the child\n", child);
    says("told", pclose(child));
  } else if (!strcmp(way, "talks")) {
    int back[2];
    char asked[] = "asked\n";
    if (pipe(ends_of) || pipe(back)) return 71;
    pid_t child = fork();
    if (!child) {
      dup2(back[0], 0);
      close(back[1]);
      char *run[] = {"sh", "-c", "read it; echo $it $$", NULL};
      does(run, ends_of);
    }
    close(ends_of[1]);
    close(back[0]);
    says("wrote", write(back[1], asked, sizeof asked - 1));
    close(back[1]);
    hears(ends_of[0], child);
  } else if (!strcmp(way, "becomes")) {
    execvp(words[0], words);
  } else if (!strcmp(way, "numbers")) {
    /* As Qt does: a fork, its descriptor, and a wait, all by number. */
    int child_fd = -1;
    siginfo_t info = {0};
    if (pipe2(ends_of, O_CLOEXEC)) return 71;
    pid_t child = syscall(SYS_clone, 0x1000 | SIGCHLD, NULL, &child_fd, NULL, NULL);
    if (!child) does(words, ends_of);
    close(ends_of[1]);
    struct pollfd ready = {child_fd, POLLIN, 0};
    says("ready", poll(&ready, 1, -1));
    int there = 0;
    ioctl(ends_of[0], FIONREAD, &there);
    says("to read", there);
    int length = read(ends_of[0], line, sizeof line - 1);
    says(line, length);
    says("waitid", syscall(SYS_waitid, 3, child_fd, &info, WEXITED | __WALL, NULL));
    says("status", info.si_status);
    says("is it", info.si_pid == child);
    says("descriptor", child_fd);
  } else if (!strcmp(way, "waitid")) {
    siginfo_t info = {0};
    pid_t child = fork();
    if (!child) _exit(9);
    says("waitid", waitid(P_PID, child, &info, WEXITED));
    says("status", info.si_status);
    says("is it", info.si_pid == child);
    says("none is left", waitpid(-1, NULL, WNOHANG));
  }
  says("handled", ended);
  return 0;
}
