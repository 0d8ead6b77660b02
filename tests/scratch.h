// A fresh folder for the files of a test program, which is also its working directory.
#ifndef LEAT_TESTS_SCRATCH_H_
#define LEAT_TESTS_SCRATCH_H_

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

// Set-up and tear-down of a test or a group; the second removes all that was left there.
int scratch_set_up(void** state);
int scratch_tear_down(void** state);
void scratch_write_file(const char* name, const void* data, size_t size);
void scratch_write_text(const char* name, const char* text);
bool scratch_has(const char* name);
// Files whose names begin with |prefix| (in "<folder>/<beginning>").
int scratch_count(const char* prefix);
// The bytes of a file, which must have some and fewer than 1 MiB, NUL-terminated; the caller frees
// them. NULL: there is no such file.
char* scratch_read_text(const char* name);
// How often |part| stands in |text|.
int scratch_count_text(const char* text, const char* part);

#endif  // LEAT_TESTS_SCRATCH_H_
