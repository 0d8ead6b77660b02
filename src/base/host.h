// The machine that this process runs on, and the variables of the process's environment that say
// where code or files come from.
#ifndef LEAT_BASE_HOST_H_
#define LEAT_BASE_HOST_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Its name, NUL-terminated, cut off at |size| (> 0); "localhost" when it has none.
void leat_host_name(char* buffer, size_t size);

// Names the machine and its run, NUL-terminated: the same for all processes on it, those of
// containers too, and another one after it was started anew. LEAT_HOST in the environment is taken
// instead. The host's name where the system tells no such thing.
void leat_host_run(char* buffer, size_t size);

// The number of this process.
int64_t leat_host_process_id(void);
// A TCP port on which nobody listens just now; another process may take it before the caller does.
// 0 where the system gives none.
int leat_host_unused_port(void);
// Whether some process has the number |id| now, be it ours or another user's. The number may
// meanwhile have passed to a new process, so true proves little and false is certain.
bool leat_host_process_is_alive(int64_t id);

// Has the signal |number| noted from now on, in place of what it did; or, with |notes| false, do
// that again. One signal at a time. False where there is no such signal, or it cannot be handled.
bool leat_host_note_signal(int number, bool notes);
// Whether one has come since the last call.
bool leat_host_take_signal(void);

// Asks the system to let the threads of this process use the matrix unit's registers (8 KiB, saved
// with a thread only after it used them).
bool leat_host_permits_tiles(void);

// The value of |name|. NULL when it is not set, and in a program that has more rights than the user
// who started it (set-uid, set-gid, with capabilities): there the environment is the user's, and
// must not choose what the program loads, where it writes or whom it connects to. Valid until the
// environment is changed.
const char* leat_environment_get_trusted(const char* name);

#endif  // LEAT_BASE_HOST_H_
