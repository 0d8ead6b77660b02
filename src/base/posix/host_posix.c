// The host's name, as the system gives it.
#define _GNU_SOURCE
#include <string.h>
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
