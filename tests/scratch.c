#define _GNU_SOURCE
#include "scratch.h"

#include <ftw.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static int remove_one(const char* path, const struct stat* about, int kind, struct FTW* walk) {
  return remove(path);
}

int scratch_set_up(void** state) {
  strcpy(folder, "/tmp/leat_scratch_XXXXXX");
  return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

int scratch_tear_down(void** state) {
  if (chdir("/")) return -1;
  return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void scratch_write_file(const char* name, const void* data, size_t size) {
  FILE* file = fopen(name, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

void scratch_write_text(const char* name, const char* text) {
  scratch_write_file(name, text, strlen(text));
}

bool scratch_has(const char* name) { return access(name, F_OK) == 0; }

int scratch_count(const char* prefix) {
  char pattern[512];
  glob_t found;
  snprintf(pattern, sizeof pattern, "%s*", prefix);
  int count = glob(pattern, 0, NULL, &found) == 0 ? (int)found.gl_pathc : 0;
  globfree(&found);
  return count;
}
