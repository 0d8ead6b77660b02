// The environment, as far as the program may trust it.
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "base/environment.h"

const char* leat_environment_get_trusted(const char* name) {
#if defined(__GLIBC__)
  return secure_getenv(name);  // asks the kernel, which knows of capabilities too
#else
  return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
}
