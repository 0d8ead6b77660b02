// Parts of file paths.
#ifndef LEAT_FORMATS_PATH_H_
#define LEAT_FORMATS_PATH_H_

#include "base/arena.h"

// What is before the last slash of |path|, "." where there is none, "/" of "/x"; NUL-terminated, in
// |arena|.
LEAT_MUST_USE leat_status_t leat_path_directory(const char* path, leat_arena_t* arena,
                                                const char** out_directory);
// Takes "//", "." and ".." out of |path|, which begins with a slash or is "" and then becomes "/"
// (there is room for that), as text: links are not followed.
void leat_path_clean(char* path);

#endif  // LEAT_FORMATS_PATH_H_
