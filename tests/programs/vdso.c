/* Asks where the vDSO is, as programs do that call it past the C library. */
#include <sys/auxv.h>

int main(void) { return getauxval(AT_SYSINFO_EHDR) ? 0 : 1; }
