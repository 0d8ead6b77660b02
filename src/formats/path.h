// Functions on the text of file paths. They ask no file system.
#ifndef LEAT_FORMATS_PATH_H_
#define LEAT_FORMATS_PATH_H_

#include "base/arena.h"

// The directory of |path|: the text before its last slash, "." when it has no slash, "/" for "/x".
// The result ends with a NUL and lies in |arena|.
LEAT_MUST_USE leat_status_t leat_path_directory(const char* path, leat_arena_t* arena,
                                                const char** out_directory);
// Removes "//", "." and ".." from |path|, which begins with a slash or is empty. An empty path
// becomes "/", for which there must be room. Only the text is changed: links are not followed.
void leat_path_clean(char* path);

#endif  // LEAT_FORMATS_PATH_H_
