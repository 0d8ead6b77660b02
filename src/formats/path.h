// Parts of file paths.
#ifndef LEAT_FORMATS_PATH_H_
#define LEAT_FORMATS_PATH_H_

#include "base/arena.h"

// What is before the last slash of |path|, "." where there is none, "/" of "/x"; NUL-terminated, in
// |arena|.
LEAT_MUST_USE leat_status_t leat_path_directory(const char* path, leat_arena_t* arena,
                                                const char** out_directory);

#endif  // LEAT_FORMATS_PATH_H_
