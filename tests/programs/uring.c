/* Makes an io_uring and keeps it for so many seconds as the argument says: by number, or with
   -DLIBURING through that library. 77: the kernel has none. */
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef LIBURING
int io_uring_queue_init(unsigned entries, void *ring, unsigned flags);
#endif

int main(int argc, char **argv) {
#ifdef LIBURING
  static char ring[1024];
  if (io_uring_queue_init(4, ring, 0) < 0) return 77;
#else
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  if (syscall(SYS_io_uring_setup, 4, &parameters) < 0) return 77;
#endif
  sleep(atoi(argv[1]));
  return 0;
}
