// Paths are bytes between slashes.
#include "formats/path.h"

leat_status_t leat_path_directory(const char* path, leat_arena_t* arena,
                                  const char** out_directory) {
  leat_string_view_t directory = {0};
  const char* slash = strrchr(path, '/');
  leat_status_t status =
      !slash ? leat_arena_copy_string(arena, LEAT_SV("."), &directory)
             : leat_arena_copy_string(
                   arena, leat_string_view_make(path, slash == path ? 1 : (size_t)(slash - path)),
                   &directory);
  *out_directory = directory.data;
  return status;
}

void leat_path_clean(char* path) {
  size_t size = 0;
  for (const char* name = path; *(name += strspn(name, "/"));) {
    size_t length = strcspn(name, "/");
    if (length == 2 && memcmp(name, "..", 2) == 0) {
      while (size && path[--size] != '/') continue;
    } else if (length != 1 || *name != '.') {
      path[size++] = '/';
      memmove(path + size, name, length);
      size += length;
    }
    name += length;
  }
  if (!size) path[size++] = '/';
  path[size] = 0;
}
