/* Makes an io_uring and keeps it for a second. 77: the kernel has none. */
#include <linux/io_uring.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void) {
  struct io_uring_params parameters;
  memset(&parameters, 0, sizeof parameters);
  if (syscall(SYS_io_uring_setup, 4, &parameters) < 0) return 77;
  sleep(1);
  return 0;
}
