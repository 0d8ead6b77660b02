// The host's name and processes, as the system gives them, the registers that it grants on demand,
// and the environment, as far as the program may trust it.
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

int64_t leat_host_process_id(void) { return getpid(); }

// The system chooses the port of a socket that is bound to port 0.
int leat_host_unused_port(void) {
  struct sockaddr_in address = {.sin_family = AF_INET};
  socklen_t size = sizeof address;
  int port = 0;
  int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return 0;
  if (bind(descriptor, (struct sockaddr*)&address, size) == 0 &&
      getsockname(descriptor, (struct sockaddr*)&address, &size) == 0) {
    port = ntohs(address.sin_port);
  }
  close(descriptor);
  return port;
}

// Signal 0 is not delivered; the system only checks whether it could be. EPERM means that there is
// such a process and that it is somebody else's.
bool leat_host_process_is_alive(int64_t id) {
  pid_t process = (pid_t)id;
  if (process <= 0 || process != id) return false;
  return kill(process, 0) == 0 || errno == EPERM;
}

bool leat_host_permits_tiles(void) {
#if defined(__x86_64__) && defined(SYS_arch_prctl)
  enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };  // asm/prctl.h, since Linux 5.16
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
  return false;
#endif
}

const char* leat_environment_get_trusted(const char* name) {
#if defined(__GLIBC__)
  return secure_getenv(name);  // asks the kernel, which knows of capabilities too
#else
  return getuid() == geteuid() && getgid() == getegid() ? getenv(name) : NULL;
#endif
}

static volatile sig_atomic_t has_come;

static void note(int number) { has_come = 1; }

bool leat_host_note_signal(int number, bool notes) {
  struct sigaction action = {.sa_handler = notes ? note : SIG_DFL, .sa_flags = SA_RESTART};
  return sigaction(number, &action, NULL) == 0;
}

bool leat_host_take_signal(void) {
  if (!has_come) return false;
  has_come = 0;
  return true;
}
