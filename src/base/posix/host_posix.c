// The host's name, as the system gives it, and the registers that it grants on demand.
#define _GNU_SOURCE
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/host.h"

void leat_host_name(char* buffer, size_t size) {
  static const char fallback[] = "localhost";
  if (gethostname(buffer, size) != 0) buffer[0] = 0;
  buffer[size - 1] = 0;
  if (buffer[0] != 0) return;
  size_t count = sizeof(fallback) < size ? sizeof(fallback) : size;
  memcpy(buffer, fallback, count);
  buffer[size - 1] = 0;
}

bool leat_host_permits_tiles(void) {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };  // asm/prctl.h, since Linux 5.16
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
  return false;
#endif
}
