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

char* scratch_read_text(const char* name) {
  enum { MOST = 1 << 20 };
  FILE* file = fopen(name, "rb");
  if (!file) return NULL;
  char* text = calloc(1, MOST);
  assert_non_null(text);
  const size_t size = fread(text, 1, MOST - 1, file);
  assert_in_range(size, 1, MOST - 2);
  fclose(file);
  return text;
}

int scratch_count_text(const char* text, const char* part) {
  int count = 0;
  for (; (text = strstr(text, part)); text += strlen(part)) ++count;
  return count;
}
