/* Sends one packet by a function that is looked up; the first argument says how, the second one is a
   library of plugin.c where that takes one. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#ifdef __x86_64__
#define VERSION "GLIBC_2.2.5"
#else
#define VERSION "GLIBC_2.17"
#endif

typedef ssize_t (*sends)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
typedef ssize_t (*passes)(int, const void *, size_t, const struct sockaddr *, socklen_t);

int main(int argc, char **argv) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(9)};
  const struct sockaddr *address = (void *)&to;
  const char *how = argv[1];
  int fd = socket(AF_INET, SOCK_DGRAM, 0);
  void *c = dlopen("libc.so.6", RTLD_LAZY), *found = 0;
  if (!strcmp(how, "plain")) return sendto(fd, how, strlen(how), 0, address, sizeof to) < 0;
  if (!strcmp(how, "handle")) found = dlsym(c, "sendto");
  if (!strcmp(how, "version")) found = dlvsym(c, "sendto", VERSION);
  if (!strcmp(how, "next")) found = dlsym(RTLD_NEXT, "sendto");
  if (!strcmp(how, "default")) found = dlsym(RTLD_DEFAULT, "sendto");
  if (!strcmp(how, "twice")) found = ((void *(*)(void *, const char *))dlsym(c, "dlsym"))(c, "sendto");
  if (found) return ((sends)found)(fd, how, strlen(how), 0, address, sizeof to) != strlen(how);
  void *plugin = 0;
  if (!strcmp(how, "plugin")) plugin = dlopen(argv[2], RTLD_NOW);
  if (!strcmp(how, "deep")) plugin = dlopen(argv[2], RTLD_NOW | RTLD_DEEPBIND);
  if (!strcmp(how, "apart")) plugin = dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW);
  if (!plugin) return fprintf(stderr, "%s\n", dlerror()), 2;
  passes pass = (passes)dlsym(plugin, "pass");
  return pass(fd, how, strlen(how), address, sizeof to) != strlen(how);
}
