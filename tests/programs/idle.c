/* Sleeps for so many milliseconds. */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) { return usleep(atoi(argv[1]) * 1000); }
