// A file system in memory that can lose power, for tests of what a save leaves behind. It keeps
// apart what was written and what would be on the disk: bytes get there when their file is synced,
// names (of new, renamed and removed files) when their directory is. At the call that is due the
// process "dies": that call and all later ones fail and change nothing. crash_file_system_crash
// then makes the state that the next process finds. Paths begin with "crash://disk/".
#ifndef LEAT_TESTS_CRASH_FILE_SYSTEM_H_
#define LEAT_TESTS_CRASH_FILE_SYSTEM_H_

#include <stdint.h>

#include "base/file_system.h"

// What survives of what was not synced.
typedef enum crash_kind_e {
  CRASH_KILL,        // everything: the process died, the system lives
  CRASH_LOSE_NAMES,  // neither bytes nor names
  CRASH_LOSE_BYTES,  // names, but no bytes: a journal of names only
  CRASH_LOSE_SOME,   // names by the toss of a coin, no bytes
  CRASH_KINDS
} crash_kind_t;

// Empty, alive, registered for the scheme "crash".
void crash_file_system_reset(void);
void crash_file_system_free(void);
// The process dies at the |nth| call from now on.
void crash_file_system_die_at(int64_t nth);
bool crash_file_system_is_dead(void);
// The next process starts. |seed| is the coin's.
void crash_file_system_crash(crash_kind_t kind, uint64_t seed);
// Files, directories not counted.
int crash_file_system_count(void);

#endif  // LEAT_TESTS_CRASH_FILE_SYSTEM_H_
