/* Sends how long a file is that it never reads, and makes it longer by five megabytes. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "to_itself.h"
int main(int count, char **arguments) {
  static char more[5 << 20];
  struct stat is = {0};
  char said[40];
  int out = to_itself();
  (void)count;
  stat(arguments[1], &is);
  snprintf(said, sizeof said, "%lld", (long long)is.st_size);
  send(out, said, strlen(said), 0);
  FILE *file = fopen(arguments[1], "ab");
  if (!file || fwrite(more, sizeof more, 1, file) != 1) return 70;
  return fclose(file);
}
