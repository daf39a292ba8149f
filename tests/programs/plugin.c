/* A library that sends; with WRAPS it stands before sendto as well, as preloaded libraries do. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/socket.h>

typedef ssize_t (*sends)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);

ssize_t pass(int fd, const void *bytes, size_t length, const struct sockaddr *to, socklen_t size) {
#ifdef NEXT
  return ((sends)dlsym(RTLD_NEXT, "sendto"))(fd, bytes, length, 0, to, size);
#else
  return sendto(fd, bytes, length, 0, to, size);
#endif
}

#ifdef WRAPS
ssize_t sendto(int fd, const void *bytes, size_t length, int flags, const struct sockaddr *to, socklen_t size) {
  fprintf(stderr, "wrapped\n");
  return ((sends)WRAPS)(fd, bytes, length, flags, to, size);
}
#endif
